// Views of bytes that belong to somebody else. Bytes are uint8_t where numbers are computed from them, and char where
// the standard library's strings are at work; these two functions turn one view into the other.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tokcli {

using Bytes = std::span<const uint8_t>;

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view view_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

inline bool is_ascii(Bytes text) {
  uint8_t all = 0;
  for (const uint8_t byte : text) all |= byte;
  return all < 0x80;
}

// Returns the first place in [p, end) of a text that is not empty, or `end`. Where the text comes every few bytes, as spaces
// do, this takes half the time of memchr and memcmp, which std::string_view::find calls.
inline const uint8_t* find_near(const uint8_t* p, const uint8_t* end, std::string_view text) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  const Bytes wanted = bytes_of(text);
  const auto is_here = [&](const uint8_t* at) {
    if (static_cast<size_t>(end - at) < wanted.size()) return false;
    size_t i = 0;
    while (i < wanted.size() && at[i] == wanted[i]) ++i;
    return i == wanted.size();
  };
  for (; end - p >= 8; p += 8) {
    uint64_t eight;
    std::memcpy(&eight, p, 8);
    if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
    const uint64_t different = eight ^ kEach * wanted[0];
    // bytes that are the first one of the text, and now and then one after such a byte
    uint64_t found = (different - kEach) & ~different & kEach << 7;
    for (; found != 0; found &= found - 1) {
      const uint8_t* const at = p + std::countr_zero(found) / 8;
      if (is_here(at)) return at;
    }
  }
  while (p < end && !is_here(p)) ++p;
  return p;
}

}  // namespace tokcli
