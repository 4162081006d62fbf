// How much may be made of a text: steps that feed each other could make anything of a few characters. The twin of
// most_made_of in engine/tokens.py.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "text/text.h"

namespace tokcli {

class GrowthLimit {
 public:
  explicit GrowthLimit(Bytes text) : text_(text), never_above_(most_of(text.size() / kMostUtf8)) {}
  // Returns whether a text has too many characters. A longer one may have its beginning the next time: so long texts are
  // counted a few times only, while they grow. For another text, another copy of the limit is used.
  bool is_above(Bytes made) { return made.size() > never_above_ && counts_above(made); }
  // Returns whether so many characters are too many.
  bool is_above(uint64_t chars) { return chars > never_above_ && chars > most(); }
  // Returns how many characters may be made of the text.
  uint64_t most() {
    if (!most_) most_ = most_of(points_in(text_).count);
    return *most_;
  }

 private:
  // (The places in a word are numbers of 31 bits: 2^28 characters have no more bytes than these.)
  static uint64_t most_of(uint64_t chars) {
    constexpr uint64_t kAnySize = 1 << 20, kGrowth = 64, kMost = 1 << 28;
    return std::min(kMost, kAnySize + kGrowth * chars);
  }
  bool counts_above(Bytes made) {
    const uint64_t chars = points_in(made).count;
    if (chars > most()) return true;
    never_above_ = made.size() + (most() - chars);  // what is added has no more characters than bytes
    return false;
  }
  Bytes text_;
  uint64_t never_above_;  // bytes that cannot be too many characters
  std::optional<uint64_t> most_;
};

}  // namespace tokcli
