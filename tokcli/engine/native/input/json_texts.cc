// A strict reader of JSON Lines that looks for one member: see json_texts.h.
//
// Every line ends in a newline, which no string, number or space of JSON may hold, so whatever reads on byte by byte
// stops there at the latest; only the eight bytes that are looked at together are compared with the end of the data.
#include "input/json_texts.h"

#include <bit>
#include <cstring>

#include "base/watch.h"
#include "input/valid_utf8.h"
#include "text/text.h"

namespace tokcli {
namespace {

constexpr unsigned kMostDepth = 64;     // a bit each; Python's parser takes some thousand
constexpr size_t kMostNumber = 256;     // bytes; Python refuses integers of more than 4,300 digits

// For each of the eight bytes of a word, the highest bit is set in the lowest byte that ends plain text in a string: a
// quote, a backslash or a control character. (Bits above that byte's may be wrong: only the lowest one is looked at.)
uint64_t string_ends(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = kOnes << 7;
  const auto zeros = [](uint64_t bytes) { return (bytes - kOnes) & ~bytes; };
  const uint64_t controls = (word - kOnes * 0x20) & ~word;
  return (zeros(word ^ kOnes * '"') | zeros(word ^ kOnes * '\\') | controls) & kHigh;
}

class LineReader {
 public:
  LineReader(Bytes lines, std::string_view name, std::string_view other, JsonTexts* out)
      : p_(lines.data()), end_(p_ + lines.size()), name_(name), other_(other), out_(out) {}

  bool is_at_end() const { return p_ == end_; }

  // Reads a line: an object. Appends the text of the member.
  bool read_line() {
    const uint8_t* const begin = p_;
    bool is_found = false;
    skip_space();
    if (!take('{')) return false;
    skip_space();
    if (!take('}')) {
      do {
        std::string_view key;
        if (!read_key(&key) || key == other_) return false;
        if (key == name_) {
          if (is_found || !take('"') || !read_text()) return false;
          is_found = true;
        } else if (!skip_value()) {
          return false;
        }
        skip_space();
      } while (take(','));
      if (!take('}')) return false;
    }
    skip_space();
    if (!is_found || !take('\n')) return false;
    out_->ends.push_back(out_->texts.size());
    work_done(static_cast<size_t>(p_ - begin));
    return true;
  }

 private:
  bool take(char byte) {
    if (*p_ != static_cast<uint8_t>(byte)) return false;
    ++p_;
    return true;
  }
  void skip_space() {
    while (*p_ == ' ' || *p_ == '\t' || *p_ == '\r') ++p_;
  }
  bool is_digit() const { return *p_ >= '0' && *p_ <= '9'; }

  // Goes to the next byte that ends plain text in a string.
  void skip_plain() {
    for (; end_ - p_ >= 8; p_ += 8) {
      uint64_t word;
      std::memcpy(&word, p_, 8);
      if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
      if (const uint64_t found = string_ends(word); found != 0) {
        p_ += std::countr_zero(found) / 8;
        return;
      }
    }
    while (*p_ != '"' && *p_ != '\\' && *p_ >= 0x20) ++p_;
  }

  // Reads the name of a member, which has no escapes, the colon after it, and white space on all sides.
  bool read_key(std::string_view* key) {
    skip_space();
    if (!take('"')) return false;
    const uint8_t* const begin = p_;
    skip_plain();
    *key = view_of({begin, static_cast<size_t>(p_ - begin)});
    if (!take('"')) return false;
    skip_space();
    if (!take(':')) return false;
    skip_space();
    return true;
  }

  // Reads the four digits of \uXXXX.
  bool read_unit(uint32_t* unit) {
    *unit = 0;
    for (int i = 0; i < 4; ++i, ++p_) {
      const unsigned letter = *p_ | 0x20u;
      if (is_digit()) *unit = *unit * 16 + (*p_ - '0');
      else if (letter >= 'a' && letter <= 'f') *unit = *unit * 16 + (letter - 'a' + 10);
      else return false;
    }
    return true;
  }

  // Returns what an escape of one letter stands for; 0 for any other letter.
  static char escaped(uint8_t letter) {
    switch (letter) {
      case '"': case '\\': case '/': return static_cast<char>(letter);
      case 'b': return '\b';
      case 'f': return '\f';
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      default: return 0;
    }
  }

  // Reads the rest of a string behind its first quote, and appends what it stands for.
  bool read_text() {
    for (;;) {
      const uint8_t* const begin = p_;
      skip_plain();
      append(view_of({begin, static_cast<size_t>(p_ - begin)}), &out_->texts);
      if (take('"')) return true;
      if (!take('\\')) return false;  // a control character
      if (!take('u')) {
        const char meant = escaped(*p_);
        if (meant == 0) return false;
        append({&meant, 1}, &out_->texts);
        ++p_;
      } else if (!read_escaped_character()) {
        return false;
      }
    }
  }

  // Reads XXXX of \uXXXX, and a second escape where the two are a surrogate pair.
  bool read_escaped_character() {
    uint32_t point, low;
    if (!read_unit(&point)) return false;
    if (point >= 0xD800 && point < 0xDC00) {
      if (!take('\\') || !take('u') || !read_unit(&low) || low < 0xDC00 || low >= 0xE000) return false;
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    const size_t size = to_utf8({&point, 1, sizeof(point), false}, out_->texts.reserve(kMostUtf8));
    if (size == kSurrogate) return false;
    out_->texts.commit(size);
    return true;
  }

  // Skips the rest of a string behind its first quote. (Half a surrogate pair matters to nobody here.)
  bool skip_string() {
    for (;;) {
      skip_plain();
      if (take('"')) return true;
      if (!take('\\')) return false;
      uint32_t unit;
      if (take('u')) {
        if (!read_unit(&unit)) return false;
      } else {
        if (escaped(*p_) == 0) return false;
        ++p_;
      }
    }
  }

  bool skip_word(std::string_view word) {
    for (const char letter : word) {
      if (!take(letter)) return false;
    }
    return true;
  }

  bool skip_digits() {
    if (!is_digit()) return false;
    while (is_digit()) ++p_;
    return true;
  }

  bool skip_number() {
    const uint8_t* const begin = p_;
    take('-');
    if (!take('0') && !skip_digits()) return false;
    if (take('.') && !skip_digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!skip_digits()) return false;
    }
    return static_cast<size_t>(p_ - begin) <= kMostNumber;
  }

  // Skips a value that is neither an object nor an array.
  bool skip_scalar() {
    switch (*p_) {
      case '"': ++p_; return skip_string();
      case 't': return skip_word("true");
      case 'f': return skip_word("false");
      case 'n': return skip_word("null");
      default: return skip_number();
    }
  }

  // Skips any value. `objects` has a bit for each array or object that is open, the innermost lowest.
  bool skip_value() {
    uint64_t objects = 0;
    unsigned depth = 0;
    for (;;) {
      const bool is_object = *p_ == '{';
      if (is_object || *p_ == '[') {
        if (depth++ == kMostDepth) return false;
        objects = objects << 1 | (is_object ? 1 : 0);
        ++p_;
        skip_space();
        if (*p_ != (is_object ? '}' : ']')) {
          if (is_object && !skip_key()) return false;
          continue;
        }
      } else if (!skip_scalar()) {
        return false;
      }
      // behind a value, or at the end of an empty array or object
      for (;; --depth, objects >>= 1) {
        if (depth == 0) return true;
        skip_space();
        const bool in_object = objects & 1;
        if (take(',')) {
          if (in_object && !skip_key()) return false;
          skip_space();
          break;
        }
        if (!take(in_object ? '}' : ']')) return false;
      }
    }
  }

  // Skips the name of a member, its colon, and white space on all sides.
  bool skip_key() {
    skip_space();
    if (!take('"') || !skip_string()) return false;
    skip_space();
    if (!take(':')) return false;
    skip_space();
    return true;
  }

  const uint8_t* p_;
  const uint8_t* const end_;
  const std::string_view name_, other_;
  JsonTexts* const out_;
};

}  // namespace

bool find_json_texts(Bytes lines, std::string_view name, std::string_view other, JsonTexts* out) {
  if (lines.empty() || lines.back() != '\n' || valid_utf8(lines) != lines.size()) return false;
  for (LineReader reader(lines, name, other, out); !reader.is_at_end();) {
    if (!reader.read_line()) return false;
  }
  return true;
}

}  // namespace tokcli
