// Checking UTF-8 with an automaton, and 64 bytes at a time before: see valid_utf8.h.
#include "input/valid_utf8.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/processor.h"
#include "base/watch.h"
#include "text/utf8.h"

#if defined(TOKCLI_AVX)
#include <immintrin.h>
#endif

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

#if defined(TOKCLI_AVX)

// 32 bytes are checked together by three look-ups for each (Keiser, Lemire: "Validating UTF-8 in less than one instruction per
// byte", 2021). Every fault but one shows in two neighbours, and is a product of three sets: of the halves of the first byte,
// and of the upper half of the second one. So each half looks up for which faults it is in the set, and what all three say is
// there. The last one is no fault where the byte two or three places before begins a character of so many bytes: it has to be
// there, and is wanted nowhere else.
struct Fault {
  uint16_t first_high, first_low, second_high;  // a bit for each number that is in the set
};
constexpr uint16_t kAsciiHalf = 0x00FF, kInner = 0x0F00, kLeads = 0xF000, kAny = 0xFFFF;
constexpr std::array<Fault, 8> kFaults = {{
    {kLeads, kAny, kAsciiHalf | kLeads},  // a character that ends too soon
    {kAsciiHalf, kAny, kInner},           // an inner byte without a first one
    {1 << 0xC, 0b11, kInner},             // two bytes for what takes one
    {1 << 0xE, 0b1, 0b11 << 8},           // three for what takes two
    {1 << 0xE, 1 << 0xD, 0b11 << 0xA},    // a surrogate
    {1 << 0xF, 0xFFF0, 0b111 << 9},       // above U+10FFFF,
    {1 << 0xF, 0xFFE1, 0b1 << 8},         // or four bytes for what takes three
    {kInner, kAny, kInner},               // two inner bytes
}};

// Returns for each number from 0 to 15, twice, for which faults it is in the set.
constexpr std::array<uint8_t, 32> faults_of(uint16_t Fault::*set) {
  std::array<uint8_t, 32> found{};
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t fault = 0; fault < kFaults.size(); ++fault)
      found[i] |= static_cast<uint8_t>((kFaults[fault].*set >> (i % 16) & 1) << fault);
  }
  return found;
}
alignas(32) constexpr auto kFirstHigh = faults_of(&Fault::first_high), kFirstLow = faults_of(&Fault::first_low),
                           kSecondHigh = faults_of(&Fault::second_high);

struct Blocks {
  __m256i first_high, first_low, second_high;
};

// Returns what is wrong with 32 bytes that come after others: nothing, if all bits are 0.
[[gnu::target("avx2")]] inline __m256i faults_in(const Blocks& tables, __m256i before, __m256i bytes) {
  const __m256i joined = _mm256_permute2x128_si256(before, bytes, 0x21);
  const __m256i one = _mm256_alignr_epi8(bytes, joined, 15), two = _mm256_alignr_epi8(bytes, joined, 14),
                three = _mm256_alignr_epi8(bytes, joined, 13);
  const __m256i half = _mm256_set1_epi8(0x0F);
  const __m256i found = _mm256_and_si256(
      _mm256_and_si256(_mm256_shuffle_epi8(tables.first_high, _mm256_and_si256(_mm256_srli_epi16(one, 4), half)),
                       _mm256_shuffle_epi8(tables.first_low, _mm256_and_si256(one, half))),
      _mm256_shuffle_epi8(tables.second_high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half)));
  // at least 0x80 after the second place of a character of three bytes, and after the second and third of one of four
  const __m256i third = _mm256_subs_epu8(two, _mm256_set1_epi8(0xE0 - 0x80));
  const __m256i fourth = _mm256_subs_epu8(three, _mm256_set1_epi8(0xF0 - 0x80));
  const __m256i inner = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(0x80)));
  return _mm256_xor_si256(found, inner);
}

// Returns a place where a character begins, before which all is UTF-8: near the first fault, or the end.
[[gnu::target("avx2")]] size_t valid_blocks_avx2(Bytes text) {
  const auto load = [&](const void* p) __attribute__((target("avx2"))) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  };
  const Blocks tables{load(kFirstHigh.data()), load(kFirstLow.data()), load(kSecondHigh.data())};
  constexpr size_t kBlock = 64, kAhead = 2048;  // (of large texts, the processor by itself asks for too little)
  __m256i before = _mm256_setzero_si256();
  size_t at = 0;
  Pace pace;
  for (; text.size() - at >= kBlock; at += kBlock) {
    __builtin_prefetch(text.data() + at + kAhead);  // harmless where the text has ended
    const __m256i first = load(&text[at]), second = load(&text[at + kBlock / 2]);
    // (where all is ASCII, a character before it may still be cut off)
    if (_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(first, second), before)) != 0) {
      pace.step(kBlock);
      const __m256i faults = _mm256_or_si256(faults_in(tables, before, first), faults_in(tables, first, second));
      if (!_mm256_testz_si256(faults, faults)) break;
    }
    before = second;
  }
  for (size_t back = 1; back <= 3 && back <= at; ++back) {
    if (begins_char(text[at - back])) return at - back;
  }
  return at;
}

#endif

}  // namespace

size_t valid_utf8(Bytes text) {
  uint64_t state = kWhole;
  size_t at = 0;
#if defined(TOKCLI_AVX)
  if (instructions() >= Instructions::kAvx2) at = valid_blocks_avx2(text);
#endif
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
