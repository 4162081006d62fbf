// Text as Python holds it, how it becomes UTF-8, and where it may be cut.
//
// A Python str is an array of code points in units of one, two or four bytes, whichever the largest of them needs. Text
// is a view of such an array, or of UTF-8, so that nothing is copied before it is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace tokcli {

// `size` units at `data`, of 1, 2 or 4 bytes each. Units of one byte are UTF-8 (`is_utf8`) or Latin-1.
struct Text {
  const void* data = nullptr;
  size_t size = 0;
  uint8_t unit = 1;
  bool is_utf8 = true;

  static Text of(Bytes utf8) { return {utf8.data(), utf8.size(), 1, true}; }
  // The units from `from` up to `to`.
  Text part(size_t from, size_t to) const {
    return {static_cast<const uint8_t*>(data) + from * unit, to - from, unit, is_utf8};
  }
  // The bytes of UTF-8: only where `is_utf8`.
  Bytes bytes() const { return {static_cast<const uint8_t*>(data), size}; }
};

// Calls `work` with a pointer to the text's units, of their own type.
template <class Work>
auto with_units(const Text& text, const Work& work) {
  switch (text.unit) {
    case 1: return work(static_cast<const uint8_t*>(text.data));
    case 2: return work(static_cast<const uint16_t*>(text.data));
    default: return work(static_cast<const uint32_t*>(text.data));
  }
}

constexpr size_t kMostUtf8 = 4;  // bytes of UTF-8 that a unit can become

// Writes the units of a text that is not UTF-8 as UTF-8 to `out`, which has room for as many bytes as most_utf8 says. Returns
// the number of bytes. Surrogates have no UTF-8: two that are a pair become its character, any other U+FFFD, as
// engine/stream/utf8.py has them. `has_surrogates`, unless null, is set where there is one.
size_t to_utf8(const Text& text, uint8_t* out, bool* has_surrogates = nullptr);
inline size_t most_utf8(const Text& text) { return text.size * (text.unit == 1 ? 2 : text.unit == 2 ? 3 : kMostUtf8); }

// How UTF-8 looks as code points: how many there are, and a bound of the largest, as Python's strings have them: 0x7F,
// 0xFF, 0xFFFF or 0x10FFFF. from_utf8 writes them to `out` in units of 1, 1, 2 or 4 bytes. The text must be UTF-8.
struct CodePoints {
  size_t count;
  uint32_t most;
};
CodePoints points_in(Bytes utf8);
void from_utf8(Bytes utf8, uint32_t most, void* out);

// Text may be cut where both parts, encoded apart, have the pieces of the whole. next_cut returns the first such place
// at `at` or after it, or the text's size; last_cut returns the last one at `at` or before it, or 0.
size_t next_cut(const Text& text, size_t at);
size_t last_cut(const Text& text, size_t at);

}  // namespace tokcli
