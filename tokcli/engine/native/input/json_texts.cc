// A strict reader of JSON Lines that looks for one member: see json_texts.h.
//
// Every line ends in a newline, which no string, number or space of JSON may hold, so whatever reads on byte by byte
// stops there at the latest; only where several bytes are looked at together are they compared with the end of the data.
#include "input/json_texts.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/processor.h"
#include "base/watch.h"
#include "input/valid_utf8.h"

#if defined(TOKCLI_AVX)
#include <immintrin.h>
#elif defined(TOKCLI_SSE2)
#include <emmintrin.h>
#endif

namespace tokcli {
namespace {

constexpr unsigned kMostDepth = 64;     // a bit each; Python's parser takes some thousand
constexpr size_t kMostNumber = 256;     // bytes; Python refuses integers of more than 4,300 digits

// Returns how many of the kAtOnce bytes at `p` are plain text in a string: those before the first quote, backslash or
// control character.
#if defined(TOKCLI_SSE2)
constexpr size_t kAtOnce = 16;
size_t plain_bytes(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
  const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i found = _mm_or_si128(controls, _mm_or_si128(quotes, backslashes));
  return static_cast<size_t>(std::countr_zero(static_cast<unsigned>(_mm_movemask_epi8(found)) | 1u << kAtOnce));
}
#else
constexpr size_t kAtOnce = 8;
size_t plain_bytes(const uint8_t* p) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = kOnes << 7;
  uint64_t word;
  std::memcpy(&word, p, kAtOnce);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  // The highest bit is set in the first byte that is found. (Bits of later bytes may be wrong: nothing looks at them.)
  const auto zeros = [](uint64_t bytes) { return (bytes - kOnes) & ~bytes; };
  const uint64_t controls = (word - kOnes * 0x20) & ~word;
  const uint64_t found = (zeros(word ^ kOnes * '"') | zeros(word ^ kOnes * '\\') | controls) & kHigh;
  return static_cast<size_t>(std::countr_zero(found)) / 8;
}
#endif

// The same for as many bytes at once as the instructions of the processor take.
using PlainBytes = size_t(const uint8_t* p);
#if defined(TOKCLI_AVX)
constexpr size_t kWide = 64;
[[gnu::target("avx2,bmi")]] size_t plain_bytes_avx2(const uint8_t* p) {
  const auto found_in = [](const uint8_t* from) __attribute__((target("avx2,bmi"))) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i controls = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1F)), bytes);
    const __m256i quotes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
    const __m256i backslashes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));
    const __m256i found = _mm256_or_si256(controls, _mm256_or_si256(quotes, backslashes));
    return uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(found))};
  };
  return static_cast<size_t>(std::countr_zero(found_in(p) | found_in(p + 32) << 32));
}
#else
constexpr size_t kWide = kAtOnce;
constexpr auto plain_bytes_avx2 = plain_bytes;
#endif

// The value of each hexadecimal digit; for all other bytes, kNoDigit, whose bits are above those of four digits.
constexpr uint32_t kNoDigit = 1 << 16;
constexpr auto kDigits = [] {
  std::array<uint32_t, 256> values{};
  for (uint32_t& value : values) value = kNoDigit;
  for (unsigned i = 0; i < 10; ++i) values['0' + i] = i;
  for (unsigned i = 0; i < 6; ++i) values['a' + i] = values['A' + i] = 10 + i;
  return values;
}();

// What each letter stands for behind a backslash; 0 for all that stand for nothing by themselves. (A table, for the
// letters of a text are hard to foresee: a switch takes twice as long.)
constexpr auto kEscapes = [] {
  std::array<uint8_t, 256> meant{};
  meant['"'] = '"', meant['\\'] = '\\', meant['/'] = '/';
  meant['b'] = '\b', meant['f'] = '\f', meant['n'] = '\n', meant['r'] = '\r', meant['t'] = '\t';
  return meant;
}();

// Writes a code point, which is no surrogate, as UTF-8, and returns the place after it.
uint8_t* write_utf8(uint32_t point, uint8_t* out) {
  const auto more = [&](unsigned shift) { return static_cast<uint8_t>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    *out++ = static_cast<uint8_t>(point);
    return out;
  }
  if (point < 0x800) {
    *out++ = static_cast<uint8_t>(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      *out++ = static_cast<uint8_t>(0xE0 | point >> 12);
    } else {
      *out++ = static_cast<uint8_t>(0xF0 | point >> 18);
      *out++ = more(12);
    }
    *out++ = more(6);
  }
  *out++ = more(0);
  return out;
}

// Nothing that stands in a string is shorter than what it stands for, so the texts need no more room than the lines.
template <size_t kAtOnceInText, PlainBytes plain_bytes_of_text>
class LineReader {
 public:
  LineReader(Bytes lines, std::string_view name, std::string_view other, uint8_t* texts, std::vector<uint64_t>* ends)
      : p_(lines.data()), end_(p_ + lines.size()), name_(name), other_(other), texts_(texts), text_(texts), ends_(ends) {}

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
    ends_->push_back(static_cast<uint64_t>(text_ - texts_));
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

  // Goes on over up to `most` bytes of plain text, and appends them if that `is_wanted`. Returns whether they ended.
  template <bool is_wanted, size_t most, PlainBytes count>
  bool take_plain() {
    if constexpr (is_wanted) std::memcpy(text_, p_, most);  // what is too much is overwritten
    const size_t plain = count(p_);
    p_ += plain;
    if constexpr (is_wanted) text_ += plain;
    return plain < most;
  }

  // Goes to the next byte that ends plain text in a string, and appends the bytes before it if that `is_wanted`. Many
  // strings are short; those that are not are read in larger steps.
  template <bool is_wanted>
  void pass_plain() {
    const auto left = [&] { return static_cast<size_t>(end_ - p_); };
    if (left() >= kAtOnce && take_plain<is_wanted, kAtOnce, plain_bytes>()) return;
    while (left() >= kAtOnceInText) {
      if (take_plain<is_wanted, kAtOnceInText, plain_bytes_of_text>()) return;
    }
    for (; *p_ != '"' && *p_ != '\\' && *p_ >= 0x20; ++p_) {  // at the end of the data
      if constexpr (is_wanted) *text_++ = *p_;
    }
  }

  // Reads the name of a member, which has no escapes, the colon after it, and white space on all sides.
  bool read_key(std::string_view* key) {
    skip_space();
    if (!take('"')) return false;
    const uint8_t* const begin = p_;
    pass_plain<false>();
    *key = view_of({begin, static_cast<size_t>(p_ - begin)});
    if (!take('"')) return false;
    skip_space();
    if (!take(':')) return false;
    skip_space();
    return true;
  }

  // Reads the four digits of \uXXXX.
  bool read_unit(uint32_t* unit) {
    if (end_ - p_ < 4) return false;
    *unit = kDigits[p_[0]] << 12 | kDigits[p_[1]] << 8 | kDigits[p_[2]] << 4 | kDigits[p_[3]];
    p_ += 4;
    return *unit < kNoDigit;
  }

  // Reads the rest of a string behind its first quote, and appends what it stands for.
  bool read_text() {
    for (;;) {
      pass_plain<true>();
      if (take('"')) return true;
      if (!take('\\')) return false;  // a control character
      if (const uint8_t meant = kEscapes[*p_]; meant != 0) {
        *text_++ = meant;
        ++p_;
      } else if (!take('u') || !read_escaped_character()) {
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
    if (point >= 0xDC00 && point < 0xE000) return false;
    text_ = write_utf8(point, text_);
    return true;
  }

  // Skips the rest of a string after its first quote. Lone surrogates pass: it is not decoded.
  bool skip_string() {
    for (;;) {
      pass_plain<false>();
      if (take('"')) return true;
      if (!take('\\')) return false;
      uint32_t unit;
      if (take('u')) {
        if (!read_unit(&unit)) return false;
      } else {
        if (kEscapes[*p_] == 0) return false;
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
  const uint8_t* const texts_;
  uint8_t* text_;  // where the next byte of a text goes
  std::vector<uint64_t>* const ends_;
};

}  // namespace

bool find_json_texts(Bytes lines, std::string_view name, std::string_view other, uint8_t* texts,
                     std::vector<uint64_t>* ends) {
  if (lines.empty() || lines.back() != '\n' || valid_utf8(lines) != lines.size()) return false;
  const auto read = [](auto reader) {
    while (!reader.is_at_end()) {
      if (!reader.read_line()) return false;
    }
    return true;
  };
  if (instructions() >= Instructions::kAvx2) return read(LineReader<kWide, plain_bytes_avx2>(lines, name, other, texts, ends));
  return read(LineReader<kAtOnce, plain_bytes>(lines, name, other, texts, ends));
}

}  // namespace tokcli
