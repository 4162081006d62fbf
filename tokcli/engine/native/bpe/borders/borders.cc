// Finding borders: see borders.h.
#include "bpe/borders/borders.h"

#include <array>

#include "base/processor.h"

#if defined(TOKCLI_SSE2)
#include <emmintrin.h>
#endif

namespace tokcli {

namespace {

// Returns a word with bit `number` of each of 64 bytes.
[[gnu::always_inline]] inline uint64_t bits_of(const std::array<uint8_t, 64>& bytes, unsigned number) {
  uint64_t found = 0;
#if defined(TOKCLI_SSE2)
  for (size_t i = 0; i < 64; i += 16) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&bytes[i]));
    const __m128i high = _mm_sll_epi16(some, _mm_cvtsi32_si128(static_cast<int>(7 - number)));
    found |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(high))} << i;
  }
#else
  for (size_t i = 0; i < 64; ++i) found |= uint64_t{bytes[i] >> number & 1u} << i;
#endif
  return found;
}

}  // namespace

// What is looked up in tables is looked up first, for what is known of each byte can then be put together for many at once.
[[gnu::always_inline]] inline uint64_t Borders::find_here(const uint8_t* p, const Pair* pairs) const {
  const uint64_t* const crossings = tables_.crossings;
  const unsigned crossing_bits = tables_.crossing_bits, rank_shift = tables_.rank_shift;
  const uint8_t* const first = p - 2;
  alignas(64) std::array<uint64_t, 64> words, hashes, known;
  alignas(64) std::array<uint64_t, 66> around;  // the pairs before, of and after each byte and the next
  alignas(64) std::array<uint8_t, 64> found;
  for (size_t i = 0; i < 64; ++i) {
    const uint8_t* const at = first + i;
    const uint32_t four = at[-2] | uint32_t{at[-1]} << 8 | uint32_t{at[0]} << 16 | uint32_t{at[1]} << 24;
    const Place place(four >> 8, at[-2]);
    words[i] = crossings[place.word(crossing_bits)];
    hashes[i] = place.hash;
  }
  for (size_t i = 0; i < 66; ++i) {
    const uint8_t* const at = first + i;
    const Pair pair = pairs[number(at[-1], at[0])];
    around[i] = pair.made | uint64_t{pair.rights} << 32 | uint64_t{pair.lefts} << 48;
  }
  for (size_t i = 0; i < 64; ++i) {
    const auto made = static_cast<int64_t>(around[i + 1] & UINT32_MAX), rank = made >> rank_shift;
    const auto rights = static_cast<int64_t>(around[i + 2] >> 32 & UINT16_MAX), lefts = static_cast<int64_t>(around[i] >> 48);
    const uint64_t sure = static_cast<uint64_t>(rank < rights) & static_cast<uint64_t>(rank < lefts);
    const uint64_t threes = words[i] >> Place::three_bit(hashes[i]) & 3;
    const uint64_t fours = words[i] >> Place::four_bit(hashes[i]) & 1;
    known[i] = threes | fours << kTwoAndTwo | sure << kSure | static_cast<uint64_t>(made != kNone) << kMerges;
  }
  for (size_t i = 0; i < 64; ++i) found[i] = static_cast<uint8_t>(known[i]);
  const uint64_t sure = bits_of(found, kSure), left_is_sure = sure << 2, right_is_sure = sure;
  const uint64_t crossed = sure << 1 | (bits_of(found, kMerges) << 1 & ~left_is_sure & ~right_is_sure) |
                           (bits_of(found, kOneAndTwo) & ~left_is_sure) |
                           (bits_of(found, kTwoAndOne) << 1 & ~right_is_sure) | bits_of(found, kTwoAndTwo);
  return ~crossed >> 2;
}

uint64_t Borders::find_portable(const uint8_t* p) const { return find_here(p, tables_.pairs); }
#if defined(TOKCLI_AVX)
[[gnu::target("avx2,bmi,bmi2,lzcnt")]] uint64_t Borders::find_avx2(const uint8_t* p) const { return find_here(p, tables_.pairs); }
#else
uint64_t Borders::find_avx2(const uint8_t* p) const { return find_portable(p); }
#endif

uint64_t Borders::find(const uint8_t* p) const {
  return instructions() >= Instructions::kAvx2 ? find_avx2(p) : find_portable(p);
}

}  // namespace tokcli
