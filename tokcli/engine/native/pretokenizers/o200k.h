// The patterns of o200k and those made from it, which cut words where a lower-case letter is followed by an upper-case
// one.
#pragma once

#include "pretokenizers/runs.h"

namespace tokcli {

// Which letters have a case. kUnicode: as Unicode says. kAscii, kAsciiAndMarks: llama.cpp tells the cases of ASCII
// letters apart and takes any other letter for both; marks are letters too (kAsciiAndMarks) or signs (kAscii).
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

// Returns the end of the word at p, or p where there is none. A word of o200k is
//   [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ or, if `or_upper`, [\p{Lu}...]+[\p{Ll}...]*
// The classes overlap: \p{Lm}, \p{Lo} and \p{M} are in both. A regular expression takes the longest first run and goes
// back from there until the second run has a character. That is where the first run meets a lower-case letter; else
// after the last character of the first run that is in both classes. Else only `or_upper` matches, and takes the whole
// first run.
template <bool or_upper, Case by>
inline const uint8_t* o200k_word(const uint8_t* p, const uint8_t* end) {
  const uint8_t* q = p;
  const uint8_t* after_both = p;  // after the last character that is in both classes
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

// Returns the end of (?i:'s|'t|'re|'ve|'m|'ll|'d)? after a word that ends at p.
template <bool contracts>
inline const uint8_t* with_contraction(const uint8_t* p, const uint8_t* end) {
  return contracts && p < end && *p == '\'' ? p + contraction<true>(p, end) : p;
}

// o200k: [^\r\n\p{L}\p{N}]?WORD1(contraction)?|[^\r\n\p{L}\p{N}]?WORD2(contraction)?|\p{N}{1,3}
//        | ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+          (WORD1 and WORD2: see o200k_word)
// tekken: as o200k, without contractions (not `contracts`) and with \p{N} in place of \p{N}{1,3} (`single_number`).
// llama.cpp's gpt-4o, granite-embed-multi-97m and tekken: as these, with another `Case`.
template <bool contracts, bool single_number, Case by = Case::kUnicode>
inline const uint8_t* o200k_end(const uint8_t* p, const uint8_t* end) {
  const Char c = cased_char<by>(p, end);
  const uint8_t* q = p + c.size;
  if (is_in(c.kind, kL)) return with_contraction<contracts>(o200k_word<true, by>(p, end), end);
  if (c.kind == kNumber) return single_number ? q : skip_three_numbers(p, end);
  if (c.kind == kMark) {  // the optional character before a word, or else the word's first character
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
  return skip_newlines<true>(q, end);
}

}  // namespace tokcli
