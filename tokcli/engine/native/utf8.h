// Steps through UTF-8, one character at a time; never beyond the end, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text.h"

namespace tokcli {

inline size_t utf8_size(uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

// The character at `p`, and where it ends.
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

// The last character before `p`, which is behind `begin`.
inline const uint8_t* previous_char(const uint8_t* p, const uint8_t* begin) {
  do --p;
  while (p > begin && (*p & 0xC0) == 0x80);
  return p;
}

// White_Space, as unicode_classes.SPACE has it.
inline bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view view_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace tokcli
