// Masks of a window of 64 bytes: a bit for each byte says which class it belongs to. pieces.cc finds pieces with them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/processor.h"
#include "pretokenizers/pieces.h"
#include "text/unicode.h"

#if defined(TOKCLI_AVX)
#include <immintrin.h>
#endif

namespace tokcli {

constexpr size_t kAfterWindow = 4;  // bytes after a window that can be read, too

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

// Which bytes of a window are A-Z, a-z, 0-9, U+0020, white space, newlines, apostrophes, slashes, control characters
// (which include some white space), or not ASCII. The lowest bit is the first byte.
struct Masks {
  uint64_t upper, lower, digit, space, white, newline, apostrophe, slash, control, high;
};

#if TOKCLI_AVX

// The bytes of a window, in the registers of each set of instructions: which of them equal a character, are one of two, or
// are from a first ASCII character to a last one. write_ends writes p + i for each bit i of `starts`, of which there are
// `count`; up to kWindow places more than these may be written.
struct Sse2 {
  __m128i bytes[4];
  explicit Sse2(const uint8_t* p) {
    for (size_t i = 0; i < 4; ++i) bytes[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i);
  }
  uint64_t equal(char c) const {
    const __m128i all = _mm_set1_epi8(c);
    return bits([&](__m128i in) { return _mm_cmpeq_epi8(in, all); });
  }
  uint64_t is_one_of(char c, char d) const { return equal(c) | equal(d); }
  // The comparison is signed: bytes of 0x80 and more are negative, and so in none of these ranges.
  uint64_t between(char first, char last) const {
    const __m128i least = _mm_set1_epi8(first), above = _mm_set1_epi8(static_cast<char>(last + 1));
    return bits([&](__m128i in) { return _mm_andnot_si128(_mm_cmpgt_epi8(least, in), _mm_cmpgt_epi8(above, in)); });
  }
  uint64_t high() const {
    return bits([](__m128i in) { return in; });
  }
  // Eight places are written at a time, some of the last eight in vain: so there is no branch for each (simdjson writes its
  // indexes in this way).
  static void write_ends(uint64_t starts, size_t count, const uint8_t* p, const uint8_t** ends) {
    for (size_t i = 0; i < count; i += 8) {
#pragma GCC unroll 8
      for (size_t k = 0; k < 8; ++k) {
        ends[i + k] = p + lowest(starts);
        starts &= starts - 1;
      }
    }
  }

 private:
  template <class Find>
  uint64_t bits(const Find& find) const {
    uint64_t found = 0;
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) found |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(find(bytes[i])))} << 16 * i;
    return found;
  }
};

#define TOKCLI_AVX2 gnu::target("avx2,bmi,bmi2,lzcnt,popcnt")
struct Avx2 {
  __m256i first_half, second_half;
  [[TOKCLI_AVX2]] explicit Avx2(const uint8_t* p)
      : first_half(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))),
        second_half(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p) + 1)) {}
  [[TOKCLI_AVX2]] uint64_t equal(char c) const {
    const __m256i all = _mm256_set1_epi8(c);
    return bits(_mm256_cmpeq_epi8(first_half, all), _mm256_cmpeq_epi8(second_half, all));
  }
  [[TOKCLI_AVX2]] uint64_t is_one_of(char c, char d) const {
    const __m256i all = _mm256_set1_epi8(c), others = _mm256_set1_epi8(d);
    return bits(_mm256_or_si256(_mm256_cmpeq_epi8(first_half, all), _mm256_cmpeq_epi8(first_half, others)),
                _mm256_or_si256(_mm256_cmpeq_epi8(second_half, all), _mm256_cmpeq_epi8(second_half, others)));
  }
  [[TOKCLI_AVX2]] uint64_t between(char first, char last) const {
    const __m256i least = _mm256_set1_epi8(first), above = _mm256_set1_epi8(static_cast<char>(last + 1));
    return bits(_mm256_andnot_si256(_mm256_cmpgt_epi8(least, first_half), _mm256_cmpgt_epi8(above, first_half)),
                _mm256_andnot_si256(_mm256_cmpgt_epi8(least, second_half), _mm256_cmpgt_epi8(above, second_half)));
  }
  [[TOKCLI_AVX2]] uint64_t high() const { return bits(first_half, second_half); }
  static void write_ends(uint64_t starts, size_t count, const uint8_t* p, const uint8_t** ends) {
    Sse2::write_ends(starts, count, p, ends);
  }

 private:
  [[TOKCLI_AVX2]] static uint64_t bits(__m256i first, __m256i second) {
    const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(first));
    return low | uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(second))} << 32;
  }
};

#define TOKCLI_AVX512 gnu::target("avx512bw,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")
struct Avx512 {
  __m512i bytes;
  [[TOKCLI_AVX512]] explicit Avx512(const uint8_t* p) : bytes(_mm512_loadu_si512(p)) {}
  [[TOKCLI_AVX512]] uint64_t equal(char c) const { return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c)); }
  [[TOKCLI_AVX512]] uint64_t is_one_of(char c, char d) const { return equal(c) | equal(d); }
  [[TOKCLI_AVX512]] uint64_t between(char first, char last) const {
    const __m512i from_first = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first));
    return _mm512_cmple_epu8_mask(from_first, _mm512_set1_epi8(static_cast<char>(last - first)));
  }
  [[TOKCLI_AVX512]] uint64_t high() const { return _mm512_movepi8_mask(bytes); }
  // The places of the bits are those of the numbers from 0 to 63 that are kept. (Profile: a sixteenth of a second pass over
  // English less than with a step for each bit.)
  [[TOKCLI_AVX512]] static void write_ends(uint64_t starts, size_t count, const uint8_t* p, const uint8_t** ends) {
    alignas(kWindow) static constexpr auto kNumbers = [] {
      std::array<uint8_t, kWindow> numbers{};
      for (size_t i = 0; i < kWindow; ++i) numbers[i] = static_cast<uint8_t>(i);
      return numbers;
    }();
    alignas(kWindow) std::array<uint8_t, kWindow> places;
    const __m512i kept = _mm512_maskz_compress_epi8(starts, _mm512_load_si512(kNumbers.data()));
    const __m512i all_p = _mm512_set1_epi64(static_cast<long long>(reinterpret_cast<uintptr_t>(p)));
    const auto write_eight = [&](__m128i eight, size_t at) __attribute__((target("avx512bw"))) {
      _mm512_storeu_si512(ends + at, _mm512_add_epi64(all_p, _mm512_cvtepu8_epi64(eight)));
    };
    write_eight(_mm512_castsi512_si128(kept), 0);
    if (count > 8) write_eight(_mm_srli_si128(_mm512_castsi512_si128(kept), 8), 8);
    if (count <= 16) [[likely]] return;
    _mm512_store_si512(places.data(), kept);
    for (size_t i = 16; i < count; i += 8) write_eight(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&places[i])), i);
  }
};

// Returns the masks of the window at p.
template <class Vectors>
inline Masks masks_of(const uint8_t* p) {
  const Vectors window(p);
  const uint64_t space = window.equal(' ');
  return {.upper = window.between('A', 'Z'),
          .lower = window.between('a', 'z'),
          .digit = window.between('0', '9'),
          .space = space,
          .white = space | window.between('\t', '\r'),
          .newline = window.is_one_of('\n', '\r'),
          .apostrophe = window.equal('\''),
          .slash = window.equal('/'),
          .control = window.between(0, 0x1F) | window.equal(0x7F),
          .high = window.high()};
}

#endif

// What a window has beside ASCII. The class of a character stands at each of its bytes.
//
// In most languages nearly every window has such characters. One loop goes from character to character, looks up the
// class of each, and sets its bits in the mask of that class; the same logic as for ASCII then finds all pieces of the
// window at once. The loop mispredicts its end once a window, where the scanner of scan.h does so once or twice a piece.
struct Wide {
  uint64_t upper = 0;   // [\p{Lu}\p{Lt}]
  uint64_t lower = 0;   // \p{Ll}
  uint64_t either = 0;  // [\p{Lm}\p{Lo}]
  uint64_t mark = 0;    // \p{M}
  uint64_t number = 0;  // \p{N}
  uint64_t white = 0;   // \s
  uint64_t other = 0;   // every other character
  uint64_t rest = 0;    // all bytes of a character but its first
  uint64_t stop = 0;    // where bytes begin that are no UTF-8, and are left to the scanner

  // Moves bits at bytes of characters to the first byte after the character. Adding a bit to the first of a run of bits
  // carries through the whole run, to the place after it.
  uint64_t after(uint64_t bits) const {
    const uint64_t next = bits << 1;
    return (next | ((next & rest) + rest)) & ~rest;
  }
  // Moves bits at the last bytes of characters to their first bytes.
  uint64_t first(uint64_t bits) const {
    const uint64_t one = (bits & rest) >> 1, two = (one & rest) >> 1, three = (two & rest) >> 1;
    return (bits | one | two | three) & ~rest;
  }
};

// The class of a character of two bytes, a and b, is kClassOf[(a & 0x1F) * 64 + (b & 0x3F)], since the blocks of these
// characters are stored in their order. That of three bytes, a, b and c, is kClassOf[kRowOf[(a & 0xF) * 64 + (b & 0x3F)]
// + (c & 0x3F)].
static_assert(kClassBlock[0] == 0 && kClassBlock[1] == 1 && kClassBlock[2] == 2 && kClassBlock[3] == 3 &&
              kClassBlock[4] == 4 && kClassBlock[5] == 5 && kClassBlock[6] == 6 && kClassBlock[7] == 7);
inline constexpr auto kRowOf = [] {
  std::array<uint16_t, 1024> rows{};
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint16_t>(kClassBlock[i / 4] * 256u + i % 4 * 64);
  return rows;
}();

#if TOKCLI_AVX

// Characters of three bytes that begin with E5 to E9, EB or EC are ideographs and syllables of Hangul: letters without case.
// So are kana, U+3041 to U+30FF, but for some marks and signs among them.
constexpr bool is_kana(size_t point) {
  return point > 0x3040 && !(point >= 0x3097 && point <= 0x309C) && point != 0x30A0 && point != 0x30FB;
}
static_assert([] {
  const auto is_letter = [](size_t point) { return kClassOf[kRowOf[point / 64] + point % 64] == kLetter; };
  for (const size_t first : {5, 6, 7, 8, 9, 11, 12}) {
    for (size_t i = 0; i < 64 * 64; ++i) {
      if (!is_letter(first * 64 * 64 + i)) return false;
    }
  }
  for (size_t point = 0x3040; point < 0x3100; ++point) {
    if (is_kana(point) && !is_letter(point)) return false;
  }
  return true;
}());

// Returns the first bytes of these letters in a window; not of all of them, but of nearly all in text that has many. None
// is where what precedes it might be a character that takes more bytes than it has.
template <class Vectors>
inline uint64_t uncased_in(const uint8_t* p, uint64_t high) {
  const auto byte = [](int value) { return static_cast<char>(value); };
  const Vectors window(p);
  uint64_t begin = window.between(byte(0xE5), byte(0xE9)) | window.between(byte(0xEB), byte(0xEC));
  if (const uint64_t kana = window.equal(byte(0xE3)) & window.between(byte(0x81), byte(0x83)) >> 1) {
    const auto second = [&](int value) { return window.equal(byte(value)) >> 1; };
    const auto third = [&](int first, int last) { return window.between(byte(first), byte(last)) >> 2; };
    begin |= kana & ~((second(0x81) & third(0x80, 0x80)) | (second(0x82) & (third(0x97, 0x9C) | third(0xA0, 0xA0))) |
                      (second(0x83) & third(0xBB, 0xBB)));
  }
  if (begin == 0 || window.between(byte(0xF0), byte(0xFF)) != 0) return 0;
  const uint64_t inside = window.between(byte(0x80), byte(0xBF)), firsts = high & ~inside;
  return begin & inside >> 1 & inside >> 2 & ~(firsts << 1 | firsts << 2);
}

#endif

// Returns the classes of the characters that have the bytes `high` of a window, which begins with a character; `uncased`
// are first bytes of some that uncased_in has found. What char_at says of bytes that are no UTF-8 holds here, too.
// kAfterWindow bytes after the window can be read.
inline Wide decode_wide(const uint8_t* p, uint64_t high, uint64_t uncased) {
  uint64_t of[kClasses] = {}, firsts = uncased, all = uncased | uncased << 1 | uncased << 2;
  of[kLetter] = all;
  for (uint64_t left = high & ~all; left != 0;) {
    const size_t at = lowest(left);
    const uint8_t* const c = p + at;
    size_t kind = kOther;
    uint64_t bits = 1ull << at;
    firsts |= bits;
    if (c[0] - 0xC2u < 0x1Eu) {  // (the size is a branch and no table, so that the next place waits for no load)
      kind = kClassOf[(c[0] & 0x1Fu) * 64 + (c[1] & 0x3Fu)];
      bits = 3ull << at;
    } else if (c[0] - 0xE0u < 0x10u) {
      kind = kClassOf[kRowOf[(c[0] & 0xFu) * 64 + (c[1] & 0x3Fu)] + (c[2] & 0x3Fu)];
      bits = 7ull << at;
    } else {
      const Char one = char_at(c, c + 4);
      kind = one.kind;
      bits = ((1ull << one.size) - 1) << at;
    }
    of[kind] |= bits;
    all |= bits;
    left &= ~bits;
  }
  Wide wide;
  wide.upper = of[kUpper];
  wide.lower = of[kLower];
  wide.either = of[kLetter];
  wide.mark = of[kMark];
  wide.number = of[kNumber];
  wide.white = of[kSpace];
  wide.other = of[kOther] | of[kPunct] | of[kSymbol];
  wide.rest = high & ~firsts;
  wide.stop = of[kNewline];  // written in more bytes than it needs
  if (const uint64_t wrong = all & ~high) [[unlikely]] wide.stop |= 1ull << highest(firsts & below(lowest(wrong)));
  return wide;
}

}  // namespace tokcli
