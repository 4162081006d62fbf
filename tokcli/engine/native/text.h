// Text as Python holds it: UTF-8, or code points of one, two or four bytes each; and how it becomes UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tokcli {

using Bytes = std::span<const uint8_t>;

// A view: `size` units at `data`, each of 1, 2 or 4 bytes. UTF-8 has units of one byte; so has Latin-1, which is no UTF-8.
struct Text {
  const void* data = nullptr;
  size_t size = 0;
  uint8_t unit = 1;
  bool is_utf8 = true;

  static Text of(Bytes utf8) { return {utf8.data(), utf8.size(), 1, true}; }
  Text part(size_t from, size_t to) const {
    return {static_cast<const uint8_t*>(data) + from * unit, to - from, unit, is_utf8};
  }
  Bytes bytes() const { return {static_cast<const uint8_t*>(data), size}; }  // where is_utf8
};

constexpr size_t kMostUtf8 = 4;  // bytes for a unit

// The units of a text that is no UTF-8 as UTF-8, written to `out` with room for kMostUtf8 bytes each. Returns how many
// bytes; kSurrogate where there is half a surrogate pair, which has no UTF-8.
constexpr size_t kSurrogate = SIZE_MAX;
size_t to_utf8(const Text& text, uint8_t* out);

// The first place at or behind `at` where text may be cut so that both parts give the pieces of the whole; `size` where
// there is none. The last such place that is not behind `at`; 0 where there is none.
size_t next_cut(const Text& text, size_t at);
size_t last_cut(const Text& text, size_t at);

}  // namespace tokcli
