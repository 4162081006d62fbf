// Counting characters, and printing: see spans.h.
#include "text/spans.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/watch.h"
#include "text/decimal.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

// A place in a text: a byte, and the number of characters that begin before it. Spans are close to each other as a rule,
// so a place moves from one to the next, on or back.
class Place {
 public:
  explicit Place(Bytes text) : text_(text) {}
  size_t byte_of(uint64_t character) {
    while (chars_ > character) step_back();
    // the place is before the character that is looked for: at a byte that begins one, or at the end
    while (at_ < text_.size() && (chars_ < character || !begins_char(text_[at_]))) chars_ += begins_char(text_[at_++]);
    return at_;
  }
  uint64_t character_of(uint64_t byte) {
    while (at_ > byte) step_back();
    const size_t end = std::min<uint64_t>(byte, text_.size());
    if (end - at_ <= sizeof(uint64_t) && text_.size() - at_ >= sizeof(uint64_t)) [[likely]] {
      chars_ += chars_in(at_, end - at_);
      return at_ = end, chars_;
    }
    if (at_ < ascii_begin_ || end > ascii_end_) {
      for (; at_ < end; ++at_) chars_ += begins_char(text_[at_]);
      ascii_begin_ = at_;
      ascii_end_ = ascii_run(text_, at_);
    }
    chars_ += end - at_;
    at_ = end;
    return chars_;
  }
  size_t byte() const { return at_; }
  // Returns whether a byte is so near before the place, or at it, that the characters between are counted at once.
  bool is_near(uint64_t byte) const { return at_ - byte <= sizeof(uint64_t) && text_.size() - byte >= sizeof(uint64_t); }
  uint64_t character_before(uint64_t byte) const { return chars_ - chars_in(byte, at_ - byte); }

 private:
  void step_back() { chars_ -= begins_char(text_[--at_]); }
  // Returns how many of the next bytes, at most eight of eight that may be read, begin a character.
  size_t chars_in(size_t at, size_t size) const {
    uint64_t bytes;
    std::memcpy(&bytes, text_.data() + at, sizeof bytes);
    constexpr uint64_t kEach = 0x0101010101010101u;
    uint64_t wanted = size == sizeof bytes ? kEach : kEach & ((uint64_t{1} << 8 * size) - 1);
    if constexpr (std::endian::native == std::endian::big) wanted = size == 0 ? 0 : kEach << 8 * (sizeof bytes - size);
    const uint64_t inner = (bytes >> 7 & ~(bytes >> 6)) & wanted;  // 1 in each byte that goes on
    return size - static_cast<size_t>(inner * kEach >> 56);        // the sum of all bytes is in the highest one
  }
  // Returns where a run of ASCII that begins at a place ends, or a place in it that is far away.
  static size_t ascii_run(Bytes text, size_t at) {
    constexpr size_t kFar = size_t{1} << 10;
    const size_t most = std::min(text.size(), at + kFar);
    uint64_t bytes;
    for (; at + sizeof bytes <= most; at += sizeof bytes) {
      std::memcpy(&bytes, text.data() + at, sizeof bytes);
      if ((bytes & 0x8080808080808080u) != 0) break;
    }
    return at;
  }
  Bytes text_;
  size_t at_ = 0;
  size_t ascii_begin_ = 0, ascii_end_ = 0;  // all bytes from the first up to the second are ASCII
  uint64_t chars_ = 0;
};

}  // namespace

namespace {

constexpr size_t kSpanBytes = 2 * sizeof(uint64_t);

std::array<uint64_t, 2> span_at(Bytes spans, size_t i) {
  std::array<uint64_t, 2> span;
  std::memcpy(&span, spans.data() + i * sizeof span, sizeof span);
  return span;
}

}  // namespace

size_t most_span_text(bool has_ids, Bytes spans, uint64_t shift) {
  uint64_t all = 0;
  for (size_t i = 0; i < spans.size() / kSpanBytes; ++i) {
    const auto [start, end] = span_at(spans, i);
    all |= (start + shift) | (end + shift);
  }
  std::array<char, kMostDigits> digits;
  const auto most = static_cast<size_t>(write_number(std::bit_width(all) == 64 ? all : std::bit_ceil(all + 1), digits.data()) -
                                        digits.data());
  return spans.size() / kSpanBytes * (2 * most + (has_ids ? kMostIdDigits + 3 : 6)) + kMostDigits;
}

// (As a rule a token begins where the one before it ends: then its digits are there already.)
char* write_spans(std::span<const uint32_t> ids, Bytes spans, uint64_t shift, char* p) {
  constexpr size_t kWord = sizeof(uint64_t);  // bytes that are copied at once; what is too much is overwritten
  Pace pace;
  uint64_t last = 0;
  const char* digits = p;  // of the end of the last span
  size_t size = 0;
  for (size_t i = 0; i < spans.size() / kSpanBytes; ++i) {
    pace.step();
    const auto [start, end] = span_at(spans, i);
    if (!ids.empty()) {
      p = write_number(ids[i], p);
      *p++ = '\t';
    } else {
      if (i > 0) p = std::copy_n(", ", 2, p);
      *p++ = '[';
    }
    if (i == 0 || start != last) {
      p = write_number(start + shift, p);
    } else if (size <= kWord && static_cast<size_t>(p - digits) >= kWord) {
      std::memcpy(p, digits, kWord);
      p += size;
    } else {
      p = std::copy_n(digits, size, p);
    }
    if (ids.empty()) p = std::copy_n(", ", 2, p);
    else *p++ = '\t';
    digits = p;
    p = write_number(end + shift, p);
    size = static_cast<size_t>(p - digits);
    last = end;
    *p++ = ids.empty() ? ']' : '\n';
  }
  return p;
}

// (Starts ascend, and so do ends; each has its own place.)
void to_byte_spans(Bytes text, std::span<uint64_t> spans) {
  const bool has_bytes = is_ascii(text);
  Place first(text), last(text);
  Pace pace;
  for (size_t i = 0; i + 1 < spans.size(); i += 2) {
    pace.step();
    spans[i] = has_bytes ? std::min<uint64_t>(spans[i], text.size()) : first.byte_of(spans[i]);
    spans[i + 1] = has_bytes ? std::min<uint64_t>(spans[i + 1], text.size()) : last.byte_of(spans[i + 1]);
  }
}

void to_char_spans(Bytes text, std::span<uint64_t> spans) {
  if (is_ascii(text)) return;
  Place first(text), last(text);
  Pace pace;
  for (size_t i = 0; i + 1 < spans.size(); i += 2) {
    pace.step();
    // as a rule a span begins where the one before it ends, or soon after: then the text is walked only once
    spans[i] = last.is_near(spans[i]) ? last.character_before(spans[i])
                                      : (spans[i] >= last.byte() ? last : first).character_of(spans[i]);
    spans[i + 1] = last.character_of(spans[i + 1]);
  }
}

void map_spans(std::span<const uint64_t> breaks, uint64_t shift, std::span<uint64_t> spans) {
  if (breaks.size() < 2) return;
  size_t at = 0;
  const auto origin = [&](uint64_t place) {
    while (at > 0 && breaks[at] > place) at -= 2;  // (a start may be before the last end)
    while (at + 3 < breaks.size() && breaks[at + 2] <= place) at += 2;
    return breaks[at + 1] + (place - breaks[at]) + shift;
  };
  Pace pace;
  for (size_t i = 0; i + 1 < spans.size(); i += 2) {
    pace.step();
    const bool is_empty = spans[i + 1] <= spans[i];
    spans[i] = origin(spans[i]);
    spans[i + 1] = is_empty ? spans[i] : origin(spans[i + 1] - 1) + 1;
  }
}

void trim_spans(std::span<uint64_t> spans, std::span<const uint32_t> blanks, bool keeps_first) {
  for (size_t i = 0; i + 1 < std::min(spans.size(), blanks.size()); i += 2) {
    uint64_t &start = spans[i], &end = spans[i + 1];
    const bool keeps = keeps_first && blanks[i] == 1 && (i == 0 || start == 0);
    if (blanks[i] > 0 && !keeps) start = std::min(start + blanks[i], end);
    if (blanks[i + 1] > 0 && end >= blanks[i + 1]) end = std::max(end - blanks[i + 1], start);
  }
}

}  // namespace tokcli
