// Steps through UTF-8, one character at a time, and never past the end, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace tokcli {

// Returns whether a byte begins a character, and does not continue one.
inline bool begins_char(uint8_t byte) { return (byte & 0xC0) != 0x80; }

// Returns the size in bytes of the character that begins with `lead`.
inline size_t utf8_size(uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

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

// Unicode's White_Space, as engine/unicode/classes.py has it.
inline bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace tokcli
