// Pre-tokenizers: where a piece of a known pattern ends. One function for each family of patterns, written by hand from
// the pattern that stands above it, in UTF-8 as it is. No recursion, no backtracking but o200k's one step: linear time.
#pragma once

#include <bit>
#include <cstring>

#include "unicode.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tokcli {

// Python's known_patterns.py says which pattern belongs to which family.
enum class Family : uint8_t {
  kR50k, kCl100k, kLlama3, kQwen2, kO200k, kTekken, kQwen35, kStarCoder, kDeepSeek, kFalcon, kDefault, kGpt4o, kGranite,
  kLlamaTekken, kCoder, kLlamaCoder, kBloom
};
constexpr int kFamilies = 17;

// --- runs ------------------------------------------------------------------------------------------------------------

// The end of the run of ASCII letters at p: both cases, or one. Words are short, so that 16 bytes at a time are enough
// (profile: nine words of ten end within the first step; wider steps only help letters without end).
template <bool upper, bool lower>
inline const uint8_t* skip_ascii_letters(const uint8_t* p, const uint8_t* end) {
#if defined(__SSE2__)
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

// The end of the run of characters of `set` at p.
template <ClassSet set>
inline const uint8_t* skip(const uint8_t* p, const uint8_t* end) {
  constexpr bool upper = set >> kUpper & 1, lower = set >> kLower & 1;
  for (;;) {
    if constexpr (upper || lower) p = skip_ascii_letters<upper, lower>(p, end);
    if (p == end) return p;
    const Char c = char_at(p, end);
    if (!is_in(c.kind, set)) return p;
    p += c.size;
  }
}

inline bool is_ascii_letter(uint8_t byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

// At most three digits.
inline const uint8_t* skip_three_numbers(const uint8_t* p, const uint8_t* end) {
  for (int count = 0; count < 3 && p < end; ++count) {
    const Char c = char_at(p, end);
    if (c.kind != kNumber) break;
    p += c.size;
  }
  return p;
}

// --- parts of the patterns -------------------------------------------------------------------------------------------

// The bytes that 's 't 'd 'm 'll 've 're take at p, which stands on the apostrophe; 0 for none. `folded`: in any case,
// and U+017F (long s) for s, the one character outside ASCII that folds to any of these letters.
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

struct Never {
  bool operator()(const uint8_t*) const { return false; }
};

// White space at p. `newlines`: \s*[\r\n]+ comes first, `whole_at_end`: \s++$ before that; then \s+(?!\S), then \s.
// A text of its own begins where `is_border`, and there the white space before it ends as at the end of the text.
template <bool newlines, bool whole_at_end, class Border = Never>
inline const uint8_t* white_space(const uint8_t* p, const uint8_t* end, const Border& is_border = {}) {
  const uint8_t* after_newline = nullptr;
  const uint8_t* last = p;  // where the last character of the run begins
  const uint8_t* q = p;
  while (q < end) {
    const Char c = char_at(q, end);
    if (!is_in(c.kind, kWhite)) break;
    last = q;
    q += c.size;
    if (c.kind == kNewline) after_newline = q;
  }
  if (whole_at_end && q == end) return q;
  if (newlines && after_newline) return after_newline;
  return q == end || last == p || is_border(q) ? q : last;
}

// --- families --------------------------------------------------------------------------------------------------------

// '(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s
// starcoder (`single_number`): the same between digits that stand alone
template <bool single_number>
inline const uint8_t* r50k_end(const uint8_t* p, const uint8_t* end) {
  if (end - p > 1 && *p == ' ' && is_ascii_letter(p[1])) return skip<kL>(p + 2, end);  // two pieces of three
  if (*p == '\'') {
    if (const size_t size = contraction<false>(p, end)) return p + size;
  }
  const uint8_t* q = *p == ' ' ? p + 1 : p;
  if (q == end) return q;
  const Char c = char_at(q, end);
  if (is_in(c.kind, kL)) return skip<kL>(q + c.size, end);
  if (c.kind == kNumber && single_number) return q == p ? q + c.size : q;
  if (c.kind == kNumber) return skip<kN>(q + c.size, end);
  if (!is_in(c.kind, kWhite)) return skip<kPunctuation>(q + c.size, end);
  return white_space<false, true>(
      p, end, [&](const uint8_t* at) { return single_number && char_at(at, end).kind == kNumber; });
}

// cl100k: '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]
//         |\s+(?!\S)|\s
// llama3: the same, but for \s*[\r\n]+ in place of \s++$|\s*[\r\n]; qwen2: and \p{N} in place of \p{N}{1,3}
// qwen35: and [\p{L}\p{M}] in place of \p{L}, and no \p{M} among the signs (`letters`)
template <bool whole_at_end, bool single_number, ClassSet letters = kL>
inline const uint8_t* cl100k_end(const uint8_t* p, const uint8_t* end) {
  constexpr ClassSet signs = kPunctuation & ~letters;
  if (end - p > 1 && *p == ' ' && is_ascii_letter(p[1])) return skip<letters>(p + 2, end);  // two pieces of three
  const Char c = char_at(p, end);
  const uint8_t* q = p + c.size;
  if (is_in(c.kind, letters)) return skip<letters>(q, end);
  if (*p == '\'') {
    if (const size_t size = contraction<true>(p, end)) return p + size;
  }
  if (c.kind == kNumber) return single_number ? q : skip_three_numbers(p, end);
  if (c.kind != kNewline && q < end) {
    const Char next = char_at(q, end);
    if (is_in(next.kind, letters)) return skip<letters>(q + next.size, end);
    if (*p == ' ' && is_in(next.kind, signs)) {
      q = skip<signs>(q + next.size, end);
      while (q < end && (*q == '\n' || *q == '\r')) ++q;
      return q;
    }
  }
  if (is_in(c.kind, kWhite)) return white_space<true, whole_at_end>(p, end);
  q = skip<signs>(q, end);
  while (q < end && (*q == '\n' || *q == '\r')) ++q;
  return q;
}

// Which letters are upper or lower case: as Unicode has it; or those of ASCII only, all others being either, and marks
// letters, too (kAsciiAndMarks) or none (kAscii).
enum class Case { kUnicode, kAscii, kAsciiAndMarks };

template <Case by>
inline Char cased_char(const uint8_t* p, const uint8_t* end) {
  Char c = char_at(p, end);
  if (by != Case::kUnicode && c.size > 1) {
    if (is_in(c.kind, kL)) c.kind = kLetter;
    else if (by == Case::kAscii && c.kind == kMark) c.kind = kOther;
  }
  return c;
}

template <Case by>
inline const uint8_t* skip_lower(const uint8_t* p, const uint8_t* end) {
  for (;;) {
    p = skip_ascii_letters<false, true>(p, end);
    if (p == end) return p;
    const Char c = cased_char<by>(p, end);
    if (!is_in(c.kind, kLowerOrNeither)) return p;
    p += c.size;
  }
}

// A word of o200k from p on, behind what may stand before it; p where there is none:
//   [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ | the same with + and * (if `or_upper`)
// Where no lower-case letter follows the first run, its last character that is in both sets serves as one: the match
// ends behind it, or, as what follows is upper case only, the second alternative takes it all.
template <bool or_upper, Case by>
inline const uint8_t* o200k_word(const uint8_t* p, const uint8_t* end) {
  const uint8_t* q = p;
  const uint8_t* after_both = p;  // behind the last character that is in both sets
  for (;;) {
    q = skip_ascii_letters<true, false>(q, end);
    if (q == end) break;
    const Char c = cased_char<by>(q, end);
    if (!is_in(c.kind, kUpperOrNeither)) {
      if (c.kind == kLower) return skip_lower<by>(q + c.size, end);
      break;
    }
    q += c.size;
    if (c.kind != kUpper) after_both = q;
  }
  if (after_both != p) return after_both;
  return or_upper ? q : p;
}

// word, then (?i:'s|'t|'re|'ve|'m|'ll|'d)?
template <bool contracts>
inline const uint8_t* with_contraction(const uint8_t* p, const uint8_t* end) {
  return contracts && p < end && *p == '\'' ? p + contraction<true>(p, end) : p;
}

// [^\r\n\p{L}\p{N}]?WORD1(contraction)?|[^\r\n\p{L}\p{N}]?WORD2(contraction)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
// tekken: the same without contractions (not `contracts`), and \p{N} in place of \p{N}{1,3}
// llama.cpp's gpt-4o, granite-embed-multi-97m and tekken: these by another `Case`
template <bool contracts, bool single_number, Case by = Case::kUnicode>
inline const uint8_t* o200k_end(const uint8_t* p, const uint8_t* end) {
  const Char c = cased_char<by>(p, end);
  const uint8_t* q = p + c.size;
  if (is_in(c.kind, kL)) return with_contraction<contracts>(o200k_word<true, by>(p, end), end);
  if (c.kind == kNumber) return single_number ? q : skip_three_numbers(p, end);
  if (c.kind == kMark) {  // before a word, or its first character: both alternatives are tried with and without
    const uint8_t* word = o200k_word<false, by>(q, end);
    return with_contraction<contracts>(word != q ? word : o200k_word<false, by>(p, end), end);
  }
  Char next{kOther, 0};
  if (c.kind != kNewline && q < end) {
    next = cased_char<by>(q, end);
    if (is_in(next.kind, kL) || next.kind == kMark) return with_contraction<contracts>(o200k_word<true, by>(q, end), end);
  }
  if (is_in(c.kind, kWhite)) {
    if (*p != ' ' || next.size == 0 || !is_in(next.kind, kPunctuation)) return white_space<true, false>(p, end);
    q += next.size;
  }
  q = skip<kPunctuation>(q, end);
  while (q < end && (*q == '\n' || *q == '\r' || *q == '/')) ++q;
  return q;
}

// --- families of several patterns in a row ---------------------------------------------------------------------------
//
// Each pattern cuts what the one before left, as a text of its own: a match never reaches, nor looks, across its ends.
// As the first patterns find characters of a class, wherever these stand, one pattern says the same (known_patterns.py).

// U+3040-30FF (kana), U+4E00-9FA5: DeepSeek's text without spaces, in three bytes each.
inline bool is_cjk(const uint8_t* p, const uint8_t* end) {
  if (*p < 0xE3 || *p > 0xE9 || end - p < 3) return false;
  const uint32_t point = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
  return point - 0x3040u < 0xC0u || point - 0x4E00u <= 0x9FA5u - 0x4E00u;
}

// The end of the run of characters of `set` at p that are all CJK, or all none.
template <ClassSet set>
inline const uint8_t* skip_on_a_side(const uint8_t* p, const uint8_t* end, bool cjk) {
  for (;;) {
    if (is_in(kLower, set) && !cjk) p = skip_ascii_letters<true, true>(p, end);
    if (p == end) return p;
    const Char c = char_at(p, end);
    if (!is_in(c.kind, set) || is_cjk(p, end) != cjk) return p;
    p += c.size;
  }
}

// \p{N}{1,3}, then [CJK]+, then [ASCII signs][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
inline const uint8_t* deepseek_end(const uint8_t* p, const uint8_t* end) {
  constexpr ClassSet words = kL | kM;
  if (end - p > 1 && *p == ' ' && is_ascii_letter(p[1])) return skip_on_a_side<words>(p + 2, end, false);
  const Char c = char_at(p, end);
  if (c.kind == kNumber) return skip_three_numbers(p, end);
  const bool cjk = is_cjk(p, end);
  const uint8_t* q = p + c.size;
  if (is_in(c.kind, words)) return skip_on_a_side<words>(q, end, cjk);
  const auto is_ahead = [&](const uint8_t* at, ClassSet set) {
    return at < end && is_in(char_at(at, end).kind, set) && is_cjk(at, end) == cjk;
  };
  const bool is_sign = is_in(c.kind, kSigns);
  if (is_sign && *p < 0x80 && q < end && is_ascii_letter(*q)) return skip_ascii_letters<true, true>(q, end);
  if (!is_sign && c.kind != kNewline && is_ahead(q, words)) return skip_on_a_side<words>(q, end, cjk);
  if (is_sign || (*p == ' ' && is_ahead(q, kSigns))) {
    q = skip_on_a_side<kSigns>(q, end, cjk);
    while (!cjk && q < end && (*q == '\n' || *q == '\r')) ++q;
    return q;
  }
  if (is_in(c.kind, kWhite)) {
    return white_space<true, false>(
        p, end, [&](const uint8_t* at) { return char_at(at, end).kind == kNumber || is_cjk(at, end); });
  }
  // what no pattern matches, up to where one does
  while (is_ahead(q, 1u << kOther) && !is_ahead(q + char_at(q, end).size, words)) q += char_at(q, end).size;
  return q;
}

// U+0800-9FA5, U+AC00-D7FF, in three bytes each: DeepSeek Coder's text without spaces.
inline bool is_asian(const uint8_t* p, const uint8_t* end) {
  if (*p < 0xE0 || *p > 0xED || end - p < 3) return false;
  const uint32_t point = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
  return point - 0x800u <= 0x9FA5u - 0x800u || point - 0xAC00u < 0x2C00u;
}

// [\r\n], then \s?\p{L}+, then \s?\p{P}+, then [asian]+, then \p{N}: each character of the first and the last alone
// llama.cpp: white space is never asian
template <bool has_asian_spaces>
inline const uint8_t* coder_end(const uint8_t* p, const uint8_t* end) {
  constexpr ClassSet signs = 1u << kPunct, found = kL | signs;
  const Char c = char_at(p, end);
  const uint8_t* q = p + c.size;
  if (c.kind == kNewline || c.kind == kNumber || q == end) return q;
  const auto is_on_side = [&](const uint8_t* at, Class kind) {
    return (has_asian_spaces || kind != kSpace) && is_asian(at, end);
  };
  const bool asian = is_on_side(p, c.kind);
  const auto skip_all = [&](ClassSet set) {
    for (; q < end; q += char_at(q, end).size) {
      if (set == kL && !asian) q = skip_ascii_letters<true, true>(q, end);
      if (q == end || !is_in(char_at(q, end).kind, set) || is_asian(q, end) != asian) break;
    }
    return q;
  };
  if (is_in(c.kind, kL)) return skip_all(kL);
  if (c.kind == kPunct) return skip_all(signs);
  if (c.kind == kSpace) {
    const Class next = char_at(q, end).kind;
    if (is_in(next, found)) return is_asian(q, end) != asian ? q : skip_all(next == kPunct ? signs : kL);
  }
  while (q < end) {
    const Char next = char_at(q, end);
    if (is_in(next.kind, found | kN | 1u << kNewline) || is_on_side(q, next.kind) != asian) break;
    const uint8_t* behind = q + next.size;
    if (next.kind == kSpace && behind < end && is_in(char_at(behind, end).kind, found)) break;
    q = behind;
  }
  return q;
}

// ( ) | . , ! ? white space, and U+2026 3002 FF0C 3001 0964 06D4 060C
inline bool is_bloom_sign(const uint8_t* p, const uint8_t* end) {
  const Char c = char_at(p, end);
  if (is_in(c.kind, kWhite)) return true;
  if (c.size == 1) return *p == '(' || *p == ')' || *p == '|' || *p == '.' || *p == ',' || *p == '!' || *p == '?';
  if (c.kind != kPunct || c.size > 3) return false;
  const uint32_t bytes = uint32_t{p[0]} << 16 | uint32_t{p[1]} << 8 | (c.size == 3 ? p[2] : 0u);
  return bytes == 0xE280A6 || bytes == 0xE38082 || bytes == 0xEFBC8C || bytes == 0xE38081 || bytes == 0xE0A5A4 ||
         bytes == 0xDB9400 || bytes == 0xD88C00;
}

//  ?[^signs]+, and what stands between two such pieces
inline const uint8_t* bloom_end(const uint8_t* p, const uint8_t* end) {
  const auto is_sign = [&](const uint8_t* at) { return is_bloom_sign(at, end); };
  const auto is_space_of_word = [&](const uint8_t* at) { return *at == ' ' && at + 1 < end && !is_sign(at + 1); };
  const uint8_t* q = p + char_at(p, end).size;
  if (is_space_of_word(p) || !is_sign(p)) {
    for (;;) {
      q = skip_ascii_letters<true, true>(q, end);
      if (q == end || is_sign(q)) return q;
      q += char_at(q, end).size;
    }
  }
  while (q < end && is_sign(q) && !is_space_of_word(q)) q += char_at(q, end).size;
  return q;
}

// [\p{P}$+<=>^~|`]+, then GPT-2's pattern, then [0-9][0-9][0-9]: Falcon in GGUF files.
// default (not `is_falcon`): without the `, and \p{N}+ before the last one
template <bool is_falcon>
inline const uint8_t* falcon_end(const uint8_t* p, const uint8_t* end) {
  const auto is_cut_out = [&](const uint8_t* at) {
    const Class kind = char_at(at, end).kind;
    return kind == kPunct || (kind == kSymbol && *at < 0x80 && (is_falcon || *at != '`'));
  };
  const auto has_three_digits = [&](const uint8_t* at) {
    const auto is_digit = [](uint8_t byte) { return byte >= '0' && byte <= '9'; };
    return end - at >= 3 && is_digit(at[0]) && is_digit(at[1]) && is_digit(at[2]);
  };
  if (is_cut_out(p)) {
    do p += char_at(p, end).size;
    while (p < end && is_cut_out(p));
    return p;
  }
  const uint8_t* q = *p == ' ' ? p + 1 : p;
  if (q == end) return q;
  const Char c = char_at(q, end);
  if (is_in(c.kind, kL)) return skip<kL>(q + c.size, end);
  if (c.kind == kNumber) {
    if (q != p && (!is_falcon || has_three_digits(q))) return q;
    if (has_three_digits(q)) return q + 3;
    do q += char_at(q, end).size;
    while (q < end && char_at(q, end).kind == kNumber && !has_three_digits(q));
    return q;
  }
  if (is_in(c.kind, kWhite) || is_cut_out(q)) return white_space<false, true>(p, end, is_cut_out);
  while (q < end && is_in(char_at(q, end).kind, kPunctuation) && !is_cut_out(q)) q += char_at(q, end).size;
  return q;
}

// Where the piece that begins at p < end ends.
template <Family family>
inline const uint8_t* piece_end(const uint8_t* p, const uint8_t* end) {
  if constexpr (family == Family::kR50k) return r50k_end<false>(p, end);
  if constexpr (family == Family::kCl100k) return cl100k_end<true, false>(p, end);
  if constexpr (family == Family::kLlama3) return cl100k_end<false, false>(p, end);
  if constexpr (family == Family::kQwen2) return cl100k_end<false, true>(p, end);
  if constexpr (family == Family::kO200k) return o200k_end<true, false>(p, end);
  if constexpr (family == Family::kTekken) return o200k_end<false, true>(p, end);
  if constexpr (family == Family::kQwen35) return cl100k_end<false, true, kL | kM>(p, end);
  if constexpr (family == Family::kStarCoder) return r50k_end<true>(p, end);
  if constexpr (family == Family::kDeepSeek) return deepseek_end(p, end);
  if constexpr (family == Family::kFalcon) return falcon_end<true>(p, end);
  if constexpr (family == Family::kDefault) return falcon_end<false>(p, end);
  if constexpr (family == Family::kGpt4o) return o200k_end<true, false, Case::kAscii>(p, end);
  if constexpr (family == Family::kGranite) return o200k_end<true, false, Case::kAsciiAndMarks>(p, end);
  if constexpr (family == Family::kCoder) return coder_end<true>(p, end);
  if constexpr (family == Family::kLlamaCoder) return coder_end<false>(p, end);
  if constexpr (family == Family::kBloom) return bloom_end(p, end);
  if constexpr (family == Family::kLlamaTekken) return o200k_end<false, true, Case::kAscii>(p, end);
}

}  // namespace tokcli
