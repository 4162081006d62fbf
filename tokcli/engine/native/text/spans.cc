// Counting characters, and printing: see spans.h.
#include "text/spans.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/watch.h"
#include "text/char_place.h"
#include "text/decimal.h"

namespace tokcli {
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
  CharPlace first(text), last(text);
  Pace pace;
  for (size_t i = 0; i + 1 < spans.size(); i += 2) {
    pace.step();
    spans[i] = has_bytes ? std::min<uint64_t>(spans[i], text.size()) : first.byte_of(spans[i]);
    spans[i + 1] = has_bytes ? std::min<uint64_t>(spans[i + 1], text.size()) : last.byte_of(spans[i + 1]);
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
