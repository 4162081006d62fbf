// The patterns of r50k and cl100k, and those made from them: where the piece that begins at p < end ends.
#pragma once

#include "pretokenizers/runs.h"

namespace tokcli {

// r50k: '(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s
// starcoder (`single_number`): each number is a piece by itself, and the pattern above splits what is between them.
template <bool single_number>
inline const uint8_t* r50k_end(const uint8_t* p, const uint8_t* end) {
  // a space and a word: two pieces of three
  if (end - p > 1 && *p == ' ' && is_ascii_letter(p[1])) return skip<kL>(p + 2, end);
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
// llama3: as cl100k, with \s*[\r\n]+ in place of \s++$|\s*[\r\n] (not `whole_at_end`).
// qwen2: as llama3, with \p{N} in place of \p{N}{1,3} (`single_number`).
// qwen35: as qwen2, with [\p{L}\p{M}] in place of \p{L}, and without \p{M} in the class of signs (`letters`).
template <bool whole_at_end, bool single_number, ClassSet letters = kL>
inline const uint8_t* cl100k_end(const uint8_t* p, const uint8_t* end) {
  constexpr ClassSet signs = kPunctuation & ~letters;
  // a space and a word: two pieces of three
  if (end - p > 1 && *p == ' ' && is_ascii_letter(p[1])) return skip<letters>(p + 2, end);
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
      return skip_newlines(q, end);
    }
  }
  if (is_in(c.kind, kWhite)) return white_space<true, whole_at_end>(p, end);
  q = skip<signs>(q, end);
  return skip_newlines(q, end);
}

}  // namespace tokcli
