// A set of bytes, and where a text has the first of them.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace tokcli {

// Sets are small as a rule: few bytes begin the added tokens of a vocabulary. A text is then read a block at a time until
// a block has one of them.
class ByteSet {
 public:
  void add(uint8_t byte) {
    if (is_in_[byte]) return;
    is_in_[byte] = true;
    if (size_ == 0) few_.fill(byte);
    if (size_ < kFew) few_[size_] = byte;
    ++size_;
  }
  bool has(uint8_t byte) const { return is_in_[byte]; }
  // Returns the first place in [p, end) of a byte of the set, or `end`.
  const uint8_t* find(const uint8_t* p, const uint8_t* end) const {
    if (size_ == 0) return end;
    if (size_ <= kFew) {
      while (static_cast<size_t>(end - p) >= kBlock && !is_any_of(p)) p += kBlock;
    }
    while (p < end && !has(*p)) ++p;
    return p;
  }

 private:
  static constexpr size_t kFew = 4, kBlock = 64;
  // Returns whether a block has one of the few bytes. (A compiler makes a few vector instructions of this.)
  bool is_any_of(const uint8_t* p) const {
    const auto [a, b, c, d] = few_;
    unsigned char found = 0;
    for (size_t i = 0; i < kBlock; ++i)
      found |= static_cast<unsigned char>((p[i] == a) | (p[i] == b) | (p[i] == c) | (p[i] == d));
    return found != 0;
  }

  std::array<bool, 256> is_in_{};
  std::array<uint8_t, kFew> few_{};  // the bytes, where there are no more; one of them stands in empty places
  size_t size_ = 0;
};

}  // namespace tokcli
