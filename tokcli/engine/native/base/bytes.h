// Views of bytes that belong to somebody else. Bytes are uint8_t where numbers are computed from them, and char where
// the standard library's strings are at work; these two functions turn one view into the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tokcli {

using Bytes = std::span<const uint8_t>;

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view view_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace tokcli
