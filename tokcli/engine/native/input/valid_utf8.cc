// Checking UTF-8 with an automaton: see valid_utf8.h.
#include "input/valid_utf8.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/watch.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

// UTF-8 is read by an automaton with nine states. All that a byte does is one word: the six bits at a state's number
// say which state follows. So a step is a load and a shift, without a branch ("shift-based DFA", Per Vognsen 2021). The
// states are those of table 3-7 in the Unicode standard, and are numbered in steps of six: kWhole is between two
// characters, kOne to kThree wait for so many more bytes, kE0 to kF4 follow a lead byte that restricts the next one.
enum Utf8 : uint64_t { kWhole, kBad = 6, kOne = 12, kTwo = 18, kThree = 24, kE0 = 30, kEd = 36, kF0 = 42, kF4 = 48 };

// Returns the state that follows `state` with a byte.
constexpr uint64_t utf8_next(Utf8 state, unsigned byte) {
  const auto in = [byte](unsigned first, unsigned last) { return byte >= first && byte <= last; };
  switch (state) {
    case kWhole:
      if (byte < 0x80) return kWhole;
      if (in(0xC2, 0xDF)) return kOne;
      if (byte == 0xE0) return kE0;
      if (byte == 0xED) return kEd;
      if (in(0xE1, 0xEF)) return kTwo;
      if (byte == 0xF0) return kF0;
      if (in(0xF1, 0xF3)) return kThree;
      return byte == 0xF4 ? kF4 : kBad;
    case kOne: return in(0x80, 0xBF) ? kWhole : kBad;
    case kTwo: return in(0x80, 0xBF) ? kOne : kBad;
    case kThree: return in(0x80, 0xBF) ? kTwo : kBad;
    case kE0: return in(0xA0, 0xBF) ? kOne : kBad;
    case kEd: return in(0x80, 0x9F) ? kOne : kBad;
    case kF0: return in(0x90, 0xBF) ? kTwo : kBad;
    case kF4: return in(0x80, 0x8F) ? kTwo : kBad;
    case kBad: break;
  }
  return kBad;
}

// The words of all bytes.
constexpr auto kUtf8 = [] {
  std::array<uint64_t, 256> rows{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (uint64_t state = kWhole; state <= kF4; state += 6)
      rows[byte] |= utf8_next(static_cast<Utf8>(state), byte) << state;
  }
  return rows;
}();

constexpr size_t kAscii = 32;  // bytes that are looked at together

bool is_ascii(const uint8_t* p) {
  std::array<uint64_t, kAscii / 8> words;
  std::memcpy(words.data(), p, kAscii);
  uint64_t all = 0;
  for (const uint64_t word : words) all |= word;
  return (all & 0x8080808080808080u) == 0;
}

}  // namespace

size_t valid_utf8(Bytes text) {
  uint64_t state = kWhole;
  size_t at = 0;
  Pace pace;
  for (; text.size() - at >= kAscii; at += kAscii) {
    if (state == kWhole && is_ascii(&text[at])) continue;
    pace.step(kAscii);
    uint64_t next = state;
    for (size_t i = 0; i < kAscii; ++i) next = kUtf8[text[at + i]] >> (next & 63);
    next &= 63;
    if (next == kBad) break;
    state = next;
  }
  size_t whole = at;  // a character ends here, or one is cut in two, which began at most three bytes earlier
  if (state != kWhole) {
    while (whole > 0 && !begins_char(text[whole - 1])) --whole;
    if (whole > 0) --whole;
  }
  for (; at < text.size() && state != kBad; ++at) {
    state = kUtf8[text[at]] >> state & 63;
    if (state == kWhole) whole = at + 1;
  }
  return whole;
}

Utf8Sequence first_sequence(Bytes text) {
  uint64_t state = kWhole;
  for (size_t at = 0; at < text.size(); ++at) {
    state = kUtf8[text[at]] >> state & 63;
    if (state == kBad) return {std::max<size_t>(at, 1), false, false};
    if (state == kWhole) return {at + 1, true, false};
  }
  return {text.size(), false, true};
}

std::vector<uint64_t> record_ends(Bytes data, uint8_t separator) {
  std::vector<uint64_t> ends;
  const uint8_t *p = data.data(), *const end = p + data.size();
  while (p < end) {
    const auto* found = static_cast<const uint8_t*>(std::memchr(p, separator, static_cast<size_t>(end - p)));
    if (found == nullptr) break;
    p = found + 1;
    ends.push_back(static_cast<uint64_t>(p - data.data()));
  }
  return ends;
}

}  // namespace tokcli
