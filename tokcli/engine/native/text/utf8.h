// Steps through UTF-8, one character at a time, and never past the end, whatever the bytes are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace tokcli {

// Returns whether a byte begins a character, and does not continue one.
inline bool begins_char(uint8_t byte) { return (byte & 0xC0) != 0x80; }

// Returns the size in bytes of the character that begins with `lead`.
inline size_t utf8_size(uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

// Returns how many of `size` bytes at `p`, at most eight, do not begin a character; eight may be read there.
inline size_t inner_of_eight(const void* p, size_t size) {
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  constexpr uint64_t kEach = 0x0101010101010101u;
  uint64_t wanted = size == sizeof bytes ? kEach : kEach & ((uint64_t{1} << 8 * size) - 1);
  if constexpr (std::endian::native == std::endian::big) wanted = size == 0 ? 0 : kEach << 8 * (sizeof bytes - size);
  const uint64_t inner = (bytes >> 7 & ~(bytes >> 6)) & wanted;  // 1 in each such byte
  return static_cast<size_t>(inner * kEach >> 56);               // the sum of all bytes is in the highest one
}

// Returns how many of `size` bytes at `p` do not begin a character; up to `end` may be read.
inline size_t inner_bytes(const uint8_t* p, size_t size, const uint8_t* end) {
  constexpr size_t kWord = sizeof(uint64_t);
  size_t inner = 0;
  for (; size > kWord; p += kWord, size -= kWord) inner += inner_of_eight(p, kWord);
  if (static_cast<size_t>(end - p) >= kWord) return inner + inner_of_eight(p, size);
  for (; size > 0; ++p, --size) inner += !begins_char(*p);
  return inner;
}

// Returns the character at `p` < `end` and moves `p` after it. A character that the end cuts off is U+FFFD.
inline uint32_t next_char(const uint8_t*& p, const uint8_t* end) {
  const uint8_t lead = *p;
  if (lead < 0x80) [[likely]] {
    ++p;
    return lead;
  }
  const size_t size = utf8_size(lead);
  if (static_cast<size_t>(end - p) < size) {
    p = end;
    return 0xFFFD;
  }
  uint32_t code = size == 2 ? lead & 0x1F : size == 3 ? lead & 0x0F : lead & 0x07;
  for (size_t i = 1; i < size; ++i) code = code << 6 | (p[i] & 0x3F);
  p += size;
  return code;
}

// Returns where the last character before `p` > `begin` begins.
inline const uint8_t* previous_char(const uint8_t* p, const uint8_t* begin) {
  do --p;
  while (p > begin && !begins_char(*p));
  return p;
}

// Writes a character, of up to four bytes, and returns where it ends.
inline uint8_t* put_char(uint32_t c, uint8_t* to) {
  const auto put = [&to](uint32_t byte) { *to++ = static_cast<uint8_t>(byte); };
  if (c < 0x80) {
    put(c);
    return to;
  }
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
  } else {
    put(0xF0 | (c >> 18 & 7));
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
  return to;
}

// Unicode's White_Space, as engine/unicode/classes.py has it.
inline bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace tokcli
