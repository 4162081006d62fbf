// Families of several patterns in sequence: DeepSeek, DeepSeek Coder, BLOOM, Falcon, llama.cpp's default.
//
// Each pattern splits every piece that the one before it left, as a text of its own: no match crosses the ends of such
// a piece, nor looks across them. Most of these patterns find the characters of a class wherever they are, so that one
// function can do the work of the whole sequence (known_patterns.py says the same in one pattern).
#pragma once

#include "pretokenizers/r50k.h"

namespace tokcli {

// Says whether the character at p is kana (U+3040-30FF) or U+4E00-9FA5, which DeepSeek's second pattern cuts out. All
// of these have three bytes.
inline bool is_cjk(const uint8_t* p, const uint8_t* end) {
  if (*p < 0xE3 || *p > 0xE9 || end - p < 3) return false;
  const uint32_t point = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
  return point - 0x3040u < 0xC0u || point - 0x4E00u <= 0x9FA5u - 0x4E00u;
}

// Returns the end of the run of characters of `set` at p that are all CJK (`cjk`), or all not.
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

// deepseek: \p{N}{1,3}, then [CJK]+, then [ASCII signs][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
//           | ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
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
  // what no pattern matches is a piece, up to where one matches again
  while (is_ahead(q, 1u << kOther) && !is_ahead(q + char_at(q, end).size, words)) q += char_at(q, end).size;
  return q;
}

// Says whether the character at p is U+0800-9FA5 or U+AC00-D7FF, which a pattern of DeepSeek Coder cuts out. All of
// these have three bytes.
inline bool is_asian(const uint8_t* p, const uint8_t* end) {
  if (*p < 0xE0 || *p > 0xED || end - p < 3) return false;
  const uint32_t point = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
  return point - 0x800u <= 0x9FA5u - 0x800u || point - 0xAC00u < 0x2C00u;
}

// coder: [\r\n], then \s?\p{L}+, then \s?\p{P}+, then [asian]+, then \p{N}. Each newline and each number is a piece.
// llama_coder (not `has_asian_spaces`): llama.cpp takes no white space for asian.
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
    const uint8_t* after = q + next.size;
    if (next.kind == kSpace && after < end && is_in(char_at(after, end).kind, found)) break;
    q = after;
  }
  return q;
}

// Says whether the character at p is one of BLOOM's signs: ( ) | . , ! ? white space, and U+2026 3002 FF0C 3001 0964
// 06D4 060C.
inline bool is_bloom_sign(const uint8_t* p, const uint8_t* end) {
  const Char c = char_at(p, end);
  if (is_in(c.kind, kWhite)) return true;
  if (c.size == 1) return *p == '(' || *p == ')' || *p == '|' || *p == '.' || *p == ',' || *p == '!' || *p == '?';
  if (c.kind != kPunct || c.size > 3) return false;
  const uint32_t bytes = uint32_t{p[0]} << 16 | uint32_t{p[1]} << 8 | (c.size == 3 ? p[2] : 0u);
  return bytes == 0xE280A6 || bytes == 0xE38082 || bytes == 0xEFBC8C || bytes == 0xE38081 || bytes == 0xE0A5A4 ||
         bytes == 0xDB9400 || bytes == 0xD88C00;
}

// bloom:  ?[^signs]+ is a piece, and so is whatever is between two such pieces.
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

// falcon (in GGUF files): [\p{P}$+<=>^~|`]+, then r50k's pattern, then [0-9][0-9][0-9].
// default (not `is_falcon`, llama.cpp's): without the ` in the first pattern, and with \p{N}+ before the last one.
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

}  // namespace tokcli
