// Writing code points as UTF-8: see text.h.
//
// Most texts have some character outside ASCII, and then Python keeps all of them in wider units. So this comes before
// everything else that is done with such a text. (Profile: one unit after another, it took a tenth of a second pass over
// English, and a fifth of one over many languages.)
#include <array>
#include <bit>

#include "base/processor.h"
#include "text/text.h"
#include "text/utf8.h"

#if defined(TOKCLI_AVX)
#include <immintrin.h>
#endif

namespace tokcli {
namespace {

constexpr bool is_surrogate(uint32_t point) { return point - 0xD800 < 0x800; }

// Returns the character of a pair of surrogates that begins at `i`, and moves there to the second; U+FFFD where there is none.
template <class Unit>
uint32_t character_of_pair(const Unit* p, size_t size, size_t& i) {
  constexpr uint32_t kHigh = 0xD800, kLow = 0xDC00, kHalf = 0x400;
  const uint32_t high = p[i], low = i + 1 < size ? p[i + 1] : 0;
  if (high - kHigh >= kHalf || low - kLow >= kHalf) return 0xFFFD;
  ++i;
  return 0x10000 + (high - kHigh) * kHalf + (low - kLow);
}

// Units that become UTF-8: those before `at` are written, up to `to`.
template <class Unit>
struct Writing {
  const Unit* p;
  size_t size, at;
  uint8_t* to;
  bool* has_surrogates;

  // Writes the units before `stop`, and the one there where it is the second of a pair of surrogates.
  void write_up_to(size_t stop) {
    for (; at < stop; ++at) {
      uint32_t point = p[at];
      if (is_surrogate(point)) {
        point = character_of_pair(p, size, at);
        if (has_surrogates != nullptr) *has_surrogates = true;
      }
      to = put_char(point, to);
    }
  }
  // Writes eight units where all of them are ASCII; returns whether they are.
  bool write_ascii() {
    Unit all = 0;
    for (size_t i = 0; i < 8; ++i) all |= p[at + i];
    if (all >= 0x80) return false;
    for (size_t i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(p[at + i]);
    at += 8;
    to += 8;
    return true;
  }
};

template <class Unit>
void write_portable(Writing<Unit>& w) {
  while (w.size - w.at >= 8) {
    if (!w.write_ascii()) w.write_up_to(w.at + 8);  // (characters outside ASCII come in groups)
  }
}

#if defined(TOKCLI_AVX)

// In which order the bytes of four characters are wanted. Each character is in four bytes, from the last one of its UTF-8
// on: a character of one byte has only that one, one of two bytes the next one too. A character of two bytes or more has a
// bit among the low four bits of the index, and one of three bytes another among the high four.
inline constexpr auto kOrders = [] {
  std::array<std::array<uint8_t, 16>, 256> orders{};
  for (size_t index = 0; index < orders.size(); ++index) {
    size_t next = 0;
    for (size_t i = 0; i < 4; ++i) {
      const size_t size = 1 + (index >> i & 1) + (index >> (4 + i) & 1);
      for (size_t k = size; k-- > 0;) orders[index][next++] = static_cast<uint8_t>(4 * i + k);
    }
  }
  return orders;
}();

#define TOKCLI_AVX2 [[gnu::target("avx2,popcnt")]] inline

TOKCLI_AVX2 __m256i eight_of(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
TOKCLI_AVX2 __m256i eight_of(const uint16_t* p) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
TOKCLI_AVX2 __m256i eight_of(const uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

// Writes sixteen units where all of them are ASCII; returns whether they are.
TOKCLI_AVX2 bool write_sixteen(const uint8_t* p, uint8_t* to) {
  const __m128i units = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), units);
  return _mm_movemask_epi8(units) == 0;
}
TOKCLI_AVX2 bool write_sixteen(const uint16_t* p, uint8_t* to) {
  const __m256i units = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if (!_mm256_testz_si256(units, _mm256_set1_epi16(-0x80))) return false;
  const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  return true;
}
TOKCLI_AVX2 bool write_sixteen(const uint32_t* p, uint8_t* to) {
  const __m256i first = eight_of(p), second = eight_of(p + 8);
  if (!_mm256_testz_si256(_mm256_or_si256(first, second), _mm256_set1_epi32(-0x80))) return false;
  const __m256i halves = _mm256_permute4x64_epi64(_mm256_packus_epi32(first, second), 0b11011000);
  const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  return true;
}

// Writes eight characters below U+10000, none of them a surrogate; returns where they end, and may write 16 bytes more.
TOKCLI_AVX2 uint8_t* write_eight(__m256i points, uint8_t* to) {
  const auto all = [](int value) __attribute__((target("avx2"))) { return _mm256_set1_epi32(value); };
  const __m256i two = _mm256_cmpgt_epi32(points, all(0x7F)), three = _mm256_cmpgt_epi32(points, all(0x7FF));
  const __m256i last = _mm256_and_si256(points, all(0x3F));
  const __m256i middle = _mm256_and_si256(_mm256_slli_epi32(points, 2), all(0x3F00));
  const __m256i first = _mm256_and_si256(_mm256_slli_epi32(points, 4), all(0x0F0000));
  const __m256i marks = _mm256_blendv_epi8(all(0x00C080), all(0xE08080), three);
  const __m256i wide = _mm256_or_si256(_mm256_or_si256(last, middle), _mm256_or_si256(first, marks));
  const __m256i bytes = _mm256_blendv_epi8(points, wide, two);
  const auto twos = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(two)));
  const auto threes = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(three)));
  const unsigned low = (twos & 0xF) | (threes & 0xF) << 4, high = twos >> 4 | (threes & 0xF0);
  const auto order = [](unsigned index) __attribute__((target("avx2"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(kOrders[index].data()));
  };
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(_mm256_castsi256_si128(bytes), order(low)));
  to += 4 + __builtin_popcount(low);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(_mm256_extracti128_si256(bytes, 1), order(high)));
  return to + 4 + __builtin_popcount(high);
}

// Returns whether one of eight units is a surrogate or above U+FFFF.
template <class Unit>
TOKCLI_AVX2 bool has_rare(__m256i points) {
  if constexpr (sizeof(Unit) == 1) return false;
  const __m256i high = _mm256_and_si256(points, _mm256_set1_epi32(-0x800));
  __m256i rare = _mm256_cmpeq_epi32(high, _mm256_set1_epi32(0xD800));
  if constexpr (sizeof(Unit) == 4) rare = _mm256_or_si256(rare, _mm256_cmpgt_epi32(points, _mm256_set1_epi32(0xFFFF)));
  return !_mm256_testz_si256(rare, rare);
}

template <class Unit>
TOKCLI_AVX2 void write_avx2(Writing<Unit>& writing) {
  constexpr size_t kLeast = 24;  // units, for which there is room enough to write 16 bytes after the first eight of them
  Writing<Unit> w = writing;
  while (w.size - w.at >= kLeast) {
    if (write_sixteen(w.p + w.at, w.to)) {
      w.at += 16;
      w.to += 16;
      continue;
    }
    const __m256i points = eight_of(w.p + w.at);
    if (has_rare<Unit>(points)) [[unlikely]] {
      w.write_up_to(w.at + 8);
      continue;
    }
    w.to = write_eight(points, w.to);
    w.at += 8;
  }
  writing = w;
}

#undef TOKCLI_AVX2
#endif

template <class Unit>
size_t write_units(const Unit* p, size_t size, uint8_t* out, bool* has_surrogates) {
  Writing<Unit> writing{p, size, 0, out, has_surrogates};
#if defined(TOKCLI_AVX)
  if (instructions() >= Instructions::kAvx2) write_avx2(writing);
#endif
  write_portable(writing);
  writing.write_up_to(size);
  return static_cast<size_t>(writing.to - out);
}

}  // namespace

size_t to_utf8(const Text& text, uint8_t* out, bool* has_surrogates) {
  return with_units(text, [&](const auto* p) { return write_units(p, text.size, out, has_surrogates); });
}

}  // namespace tokcli
