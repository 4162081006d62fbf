// Pieces by windows of 64 bytes: see pieces.h.
//
// A scanner that follows one piece after another mispredicts the end of nearly every one (profile: 22 cycles a piece).
// So bytes are looked at 64 at a time, without a branch for each piece. A window begins where a piece begins. Its bytes
// are classified into masks of 64 bits, a bit for each byte: letters, digits, white space and so on. Shifts and logic
// on whole masks then say of all 64 places at once whether a piece begins there: a word begins at a letter, for
// example, where the byte before is no letter (`letter & ~(letter << 1)`).
//
// Masks cannot tell everything: how white space at the end of a window is cut depends on what follows it, and
// characters outside ASCII are not classified. There the window ends early, and the next one begins at the last piece
// that is sure. Where no piece is sure, the scanner of scan.h finds one.
#include "pretokenizers/pieces.h"

#include <algorithm>
#include <bit>

#include "base/processor.h"
#include "pretokenizers/scan.h"

#if defined(TOKCLI_AVX)
#include <immintrin.h>
#endif

namespace tokcli {
namespace {

// Which bytes of a window are A-Z, a-z, 0-9, U+0020, white space, newlines, apostrophes, slashes, control characters
// (which include some white space), or not ASCII. The lowest bit is the first byte.
struct Masks {
  uint64_t upper, lower, digit, space, white, newline, apostrophe, slash, control, high;
};

#if TOKCLI_AVX

// The comparison is signed: bytes of 0x80 and more are negative, and so in none of these ranges.
void classify_sse2(const uint8_t* p, Masks* masks) {
  *masks = {};
#pragma GCC unroll 4
  for (size_t i = 0; i < kWindow; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    const auto equal = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    const auto between = [&](char first, char last) {
      return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(static_cast<char>(first - 1))),
                           _mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(last + 1))));
    };
    const auto bits = [&](__m128i found) { return uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(found))} << i; };
    const __m128i space = equal(' ');
    masks->upper |= bits(between('A', 'Z'));
    masks->lower |= bits(between('a', 'z'));
    masks->digit |= bits(between('0', '9'));
    masks->space |= bits(space);
    masks->white |= bits(_mm_or_si128(space, between('\t', '\r')));
    masks->newline |= bits(_mm_or_si128(equal('\n'), equal('\r')));
    masks->apostrophe |= bits(equal('\''));
    masks->slash |= bits(equal('/'));
    masks->control |= bits(_mm_or_si128(between(0, 0x1F), equal(0x7F)));
    masks->high |= bits(bytes);
  }
}

[[gnu::target("avx512bw")]] void classify_avx512(const uint8_t* p, Masks* masks) {
  const __m512i bytes = _mm512_loadu_si512(p);
#define EQUAL(c) _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c))
#define BETWEEN(first, count) \
  _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(first)), _mm512_set1_epi8(count))
  masks->upper = BETWEEN('A', 26);
  masks->lower = BETWEEN('a', 26);
  masks->digit = BETWEEN('0', 10);
  masks->space = EQUAL(' ');
  masks->white = masks->space | BETWEEN('\t', 5);
  masks->newline = EQUAL('\n') | EQUAL('\r');
  masks->apostrophe = EQUAL('\'');
  masks->slash = EQUAL('/');
  masks->control = BETWEEN(0, 0x20) | EQUAL(0x7F);
  masks->high = _mm512_movepi8_mask(bytes);
#undef EQUAL
#undef BETWEEN
}

#endif

// Returns a mask of the bits below `count` <= 64.
inline uint64_t below(size_t count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }
// Returns the number of the highest bit in a mask that is not 0.
inline size_t highest(uint64_t bits) { return 63 - static_cast<size_t>(std::countl_zero(bits)); }
// Counts bits. (std::popcount is a call where the processor may lack the instruction.)
inline size_t count_of(uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555u;
  bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
  return ((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56;
}
inline size_t lowest(uint64_t bits) { return static_cast<size_t>(std::countr_zero(bits)); }

// Returns the places of a window where pieces begin, as far as that is sure. Place 0 is one of them, and gets no bit.
template <Family family>
inline uint64_t starts_of(const uint8_t* p, const Masks& in) {
  constexpr bool is_r50k = family == Family::kR50k || family == Family::kStarCoder;
  constexpr bool is_tekken = family == Family::kTekken || family == Family::kLlamaTekken;
  constexpr bool is_o200k =
      family == Family::kO200k || family == Family::kGpt4o || family == Family::kGranite || is_tekken;
  constexpr bool is_deepseek = family == Family::kDeepSeek, contracts = !is_deepseek && !is_tekken;
  constexpr bool single_digits = family == Family::kStarCoder || family == Family::kQwen2 ||
                                 family == Family::kQwen35 || is_tekken;
  const uint64_t letter = in.upper | in.lower, other = ~(letter | in.digit | in.white | in.high);
  const uint64_t after_space = in.space << 1;

  // Nothing is known of places from `sure` on. The window ends (`size`) before the first byte outside ASCII.
  const uint64_t unknown = is_deepseek ? in.high | (in.control & ~in.white) : in.high;
  const size_t size = unknown ? lowest(unknown) : kWindow;
  size_t sure = size;
  if (size == 0) return 0;
  if (in.white >> (size - 1) & 1) {  // how white space is cut depends on what comes after it
    const uint64_t before = ~in.white & below(size);
    sure = before ? highest(before) + 2 : 1;
  }

  uint64_t starts = 0;
  const uint64_t digits = in.digit & ~(in.digit << 1);
  const uint64_t others = other & ~(other << 1) & ~after_space;  // where runs of signs begin, if not after a space
  if constexpr (is_r50k) {
    // one U+0020 belongs to what follows; of a run of white space the last character is a piece or belongs to what
    // follows
    starts = (letter & ~(letter << 1) & ~after_space) | others;
    starts |= in.white & ~(in.white << 1);
    if constexpr (single_digits) starts |= in.digit | (in.white & ~in.white >> 1 & ~(in.digit >> 1));
    else starts |= (digits & ~after_space) | (in.white & ~in.white >> 1);
  } else {
    // Newlines after signs belong to them. Adding a bit to the first of a run of bits carries through the whole run and
    // clears it: so a run of newlines that begins after a sign is found at once.
    const uint64_t eaten = in.newline & ~(in.newline + (in.newline & other << 1));
    if constexpr (is_o200k) {
      if (const uint64_t more = eaten << 1 & in.slash) [[unlikely]] sure = std::min(sure, lowest(more));
    }
    const uint64_t white = in.white & ~eaten, blank = in.white & ~in.newline;
    // a run of white space begins a piece; another one begins after its last newline, and another with its last
    // character,
    const uint64_t after_newline = blank & (in.newline & ~eaten) << 1;
    starts = (white & ~(white << 1)) | after_newline;
    starts |= blank & ~in.white >> 1 & (is_deepseek ? ~(in.digit >> 1) : ~0ull);
    // but none after a newline where blanks and another newline follow
    if (const uint64_t next = (blank + after_newline) & ~blank & in.newline) [[unlikely]] {
      sure = std::min(sure, highest(after_newline & below(lowest(next))));
    }
    // a word includes one character before it: a blank, or a single sign
    starts |= letter & ~(letter << 1) & ~((blank | others) << 1);
    starts |= others | digits;
    if constexpr (single_digits) {
      starts |= in.digit;
    } else {  // digits are cut in threes: from each start on, every third place that more digits follow
      const uint64_t more = in.digit & in.digit << 1 & in.digit << 2 & in.digit << 3;
      for (uint64_t third = digits << 3 & more; third; third = third << 3 & more) starts |= third;
    }
    if constexpr (is_o200k) starts |= in.upper & in.lower << 1;
  }

  // Contractions ('s): after a word they belong to it (o200k), else they are pieces where an apostrophe begins a piece.
  size_t last_end = 0;
  const uint64_t apostrophes = in.apostrophe & (is_o200k ? letter << 1 : others);
  for (uint64_t rest = contracts ? apostrophes : 0; rest; rest &= rest - 1) {
    const size_t at = lowest(rest);
    if (at + 3 > size) {  // a contraction takes at most three bytes, and what follows may be no ASCII
      sure = std::min(sure, at);
      break;
    }
    const size_t taken = contraction<!is_r50k>(p + at, p + size);
    if (taken == 0 || (is_o200k && at == last_end)) continue;
    last_end = at + taken;
    const uint64_t inside = (is_o200k ? 7ull : 6ull) << at & below(last_end);
    starts &= ~inside;
    if (last_end < kWindow) starts |= 1ull << last_end;
  }
  return starts & below(sure) & ~1ull;
}

template <Family family>
size_t find_one_by_one(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room) {
  size_t found = 0;
  while (found < room && p < end) ends[found++] = p = piece_end<family>(p, end);
  return found;
}

template <Family family, void (*classify)(const uint8_t*, Masks*)>
size_t find_ends(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room) {
  size_t found = 0;
  while (found < room && static_cast<size_t>(end - p) > kWindow) {
    if (((p[0] | p[1]) & 0x80) == 0) {
      Masks masks;
      classify(p, &masks);
      if (uint64_t starts = starts_of<family>(p, masks)) [[likely]] {
        // Eight places are written at a time, some of the last eight in vain: so there is no branch for each (simdjson
        // writes its indexes in this way).
        const size_t count = count_of(starts), last = highest(starts);
        for (size_t i = 0; i < count; i += 8) {
#pragma GCC unroll 8
          for (size_t k = 0; k < 8; ++k) {
            ends[found + i + k] = p + lowest(starts | 1ull << 63);
            starts &= starts - 1;
          }
        }
        found += count;
        p += last;
        continue;
      }
    }
    ends[found++] = p = piece_end<family>(p, end);
  }
  return found + find_one_by_one<family>(p, end, ends + found, found < room ? room - found : 0);
}

template <Family family>
FindEnds finder_of(Instructions use) {
  switch (use) {
#if TOKCLI_AVX
    case Instructions::kAvx512: return find_ends<family, classify_avx512>;
    case Instructions::kAvx2:  // (profile: twice the width of SSE2 is no faster)
    case Instructions::kSse2: return find_ends<family, classify_sse2>;
#endif
    default: return find_one_by_one<family>;
  }
}

}  // namespace

FindEnds finder(Family family, Instructions use) {
  switch (family) {
    case Family::kR50k: return finder_of<Family::kR50k>(use);
    case Family::kCl100k: return finder_of<Family::kCl100k>(use);
    case Family::kLlama3: return finder_of<Family::kLlama3>(use);
    case Family::kQwen2: return finder_of<Family::kQwen2>(use);
    case Family::kO200k: return finder_of<Family::kO200k>(use);
    case Family::kTekken: return finder_of<Family::kTekken>(use);
    case Family::kQwen35: return finder_of<Family::kQwen35>(use);
    case Family::kStarCoder: return finder_of<Family::kStarCoder>(use);
    case Family::kDeepSeek: return finder_of<Family::kDeepSeek>(use);
    case Family::kFalcon: return find_one_by_one<Family::kFalcon>;
    case Family::kGpt4o: return finder_of<Family::kGpt4o>(use);
    case Family::kGranite: return finder_of<Family::kGranite>(use);
    case Family::kLlamaTekken: return finder_of<Family::kLlamaTekken>(use);
    case Family::kCoder: return find_one_by_one<Family::kCoder>;
    case Family::kLlamaCoder: return find_one_by_one<Family::kLlamaCoder>;
    case Family::kBloom: return find_one_by_one<Family::kBloom>;
    case Family::kDefault: return find_one_by_one<Family::kDefault>;
  }
  return nullptr;
}

}  // namespace tokcli
