// Runs of characters of one class, and the elements that several patterns share: contractions, numbers, white space.
#pragma once

#include <bit>
#include <cstring>

#include "base/hash.h"
#include "base/processor.h"
#include "text/unicode.h"

#if defined(TOKCLI_SSE2)
#include <emmintrin.h>
#endif

namespace tokcli {

// Returns the end of the run of ASCII letters at p, of both cases or of one. Words are short, so 16 bytes at a time are
// enough. (Profile: nine words of ten end within the first step; wider steps help only very long runs.)
template <bool upper, bool lower>
inline const uint8_t* skip_ascii_letters(const uint8_t* p, const uint8_t* end) {
#if defined(TOKCLI_SSE2)
  const __m128i first = _mm_set1_epi8(static_cast<char>(upper && !lower ? 'A' : 'a') - 1);
  const __m128i last = _mm_set1_epi8(static_cast<char>(upper && !lower ? 'Z' : 'z') + 1);
  const __m128i fold = _mm_set1_epi8(upper && lower ? 0x20 : 0);
  while (end - p >= 16) {
    // signed comparison: bytes of 0x80 and more are negative, and below `first`
    const __m128i bytes = _mm_or_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), fold);
    const __m128i inside = _mm_and_si128(_mm_cmpgt_epi8(bytes, first), _mm_cmplt_epi8(bytes, last));
    const unsigned outside = ~static_cast<unsigned>(_mm_movemask_epi8(inside)) & 0xFFFFu;
    if (outside) return p + std::countr_zero(outside);
    p += 16;
  }
#endif
  while (p < end && ((lower && *p >= 'a' && *p <= 'z') || (upper && *p >= 'A' && *p <= 'Z'))) ++p;
  return p;
}

// Returns a place up to which the character of `size` bytes before p is repeated, in steps of several characters.
inline const uint8_t* skip_repeated(const uint8_t* p, const uint8_t* end, size_t size) {
  constexpr size_t kStep = 24;  // whole characters of one, two, three and four bytes
  const auto differs = [&](size_t at) { return read_word(p + at) ^ read_word(p + at - size); };
  while (static_cast<size_t>(end - p) >= kStep && (differs(0) | differs(8) | differs(16)) == 0) p += kStep;
  return p;
}

constexpr size_t kLookedAt = 16;  // characters of a run, after which the same one may be repeated for long

// Returns the end of the run of characters of `set` at p.
template <ClassSet set>
inline const uint8_t* skip(const uint8_t* p, const uint8_t* end) {
  constexpr bool upper = set >> kUpper & 1, lower = set >> kLower & 1;
  for (size_t count = 1;; ++count) {
    if constexpr (upper || lower) p = skip_ascii_letters<upper, lower>(p, end);
    if (p == end) return p;
    const Char c = char_at(p, end);
    if (!is_in(c.kind, set)) return p;
    p += c.size;
    if (count % kLookedAt == 0) p = skip_repeated(p, end, c.size);
  }
}

// Returns the end of the run of newlines at p, and of slashes if they count as such.
template <bool slashes = false>
inline const uint8_t* skip_newlines(const uint8_t* p, const uint8_t* end) {
  for (size_t count = 1; p < end && (*p == '\n' || *p == '\r' || (slashes && *p == '/')); ++count) {
    ++p;
    if (count % kLookedAt == 0) p = skip_repeated(p, end, 1);
  }
  return p;
}

inline bool is_ascii_letter(uint8_t byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

// Returns the end of the run of numbers at p, at most three of them: \p{N}{1,3}.
inline const uint8_t* skip_three_numbers(const uint8_t* p, const uint8_t* end) {
  for (int count = 0; count < 3 && p < end; ++count) {
    const Char c = char_at(p, end);
    if (c.kind != kNumber) break;
    p += c.size;
  }
  return p;
}

// Returns the size in bytes of the contraction at p ('s 't 'd 'm 'll 've 're), where the apostrophe is; 0 where there
// is none. `folded`: in any case, and with U+017F (long s) for s, the one character outside ASCII that folds to such a
// letter.
template <bool folded>
inline size_t contraction(const uint8_t* p, const uint8_t* end) {
  const size_t left = static_cast<size_t>(end - p);
  if (left < 2) return 0;
  constexpr uint8_t fold = folded ? 0x20 : 0;
  const uint8_t a = p[1];
  if (a >= 0x80) return folded && a == 0xC5 && left >= 3 && p[2] == 0xBF ? 3 : 0;
  switch (a | fold) {
    case 's': case 't': case 'd': case 'm':
      return 2;
    case 'l':
      return left >= 3 && (p[2] | fold) == 'l' ? 3 : 0;
    case 'v': case 'r':
      return left >= 3 && (p[2] | fold) == 'e' ? 3 : 0;
    default:
      return 0;
  }
}

// The default for `is_border` below: no place is a border.
struct NoBorder {
  bool operator()(const uint8_t*) const { return false; }
};

// Returns the end of the piece of white space at p. The alternatives of a pattern are tried in this order: \s++$ (only
// where `whole_at_end`), \s*[\r\n]+ (only where `newlines`), \s+(?!\S), which leaves the last character of a run to
// what follows, and \s. Where `is_border(place)`, another pattern has cut the text: white space before it ends as at
// the end of the text.
template <bool newlines, bool whole_at_end, class Border = NoBorder>
inline const uint8_t* white_space(const uint8_t* p, const uint8_t* end, const Border& is_border = {}) {
  const uint8_t* after_newline = nullptr;
  const uint8_t* last = p;  // where the last character of the run begins
  const uint8_t* q = p;
  for (size_t count = 1; q < end; ++count) {
    const Char c = char_at(q, end);
    if (!is_in(c.kind, kWhite)) break;
    q += c.size;
    if (count % kLookedAt == 0) q = skip_repeated(q, end, c.size);
    last = q - c.size;
    if (c.kind == kNewline) after_newline = q;
  }
  if (whole_at_end && q == end) return q;
  if (newlines && after_newline) return after_newline;
  return q == end || last == p || is_border(q) ? q : last;
}

}  // namespace tokcli
