// See live_merges.h.
#include "live_merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace tokcli {
namespace {

constexpr uint64_t kMostWork = uint64_t{1} << 31;  // a second or two; the largest in use take some 2^24

// The number of the merge of two parts.
class Orders {
 public:
  explicit Orders(std::span<const Vocabulary::Merge> merges)
      : merges_(merges), mask_(std::bit_ceil(merges.size() * 2 + 2) - 1), slots_(mask_ + 1, kNone) {
    for (uint32_t order = 0; order < merges.size(); ++order) {
      size_t at = place(merges[order][0], merges[order][1]);
      while (slots_[at] != kNone) at = (at + 1) & mask_;
      slots_[at] = order;
    }
  }
  uint32_t find(uint32_t left, uint32_t right) const {
    for (size_t at = place(left, right);; at = (at + 1) & mask_) {
      const uint32_t order = slots_[at];
      if (order == kNone || (merges_[order][0] == left && merges_[order][1] == right)) return order;
    }
  }

 private:
  size_t place(uint32_t left, uint32_t right) const {
    return static_cast<size_t>(mix(uint64_t{left} << 32 | right, kHashLow)) & mask_;
  }
  std::span<const Vocabulary::Merge> merges_;
  size_t mask_;
  std::vector<uint32_t> slots_;
};

}  // namespace

std::vector<uint32_t> live_merges(std::span<const Token> tokens, std::span<const Vocabulary::Merge> merges) {
  const Orders orders(merges);
  std::array<uint32_t, 256> byte_ids;
  byte_ids.fill(kNone);
  for (const Token& token : tokens) {
    if (token.size == 1) byte_ids[token.bytes[0]] = token.id;
  }
  std::vector<uint32_t> live, parts, found;
  uint64_t work = 0;
  for (const Token& token : tokens) {
    if (token.size < 2) continue;
    work += uint64_t{token.size} * token.size;
    if (work > kMostWork) throw std::length_error("tokens too long");
    parts.resize(token.size);
    std::transform(token.bytes, token.bytes + token.size, parts.begin(), [&](uint8_t byte) { return byte_ids[byte]; });
    if (std::find(parts.begin(), parts.end(), kNone) != parts.end()) continue;
    found.resize(parts.size() - 1);  // the merge of each part with the next
    for (size_t i = 0; i < found.size(); ++i) found[i] = orders.find(parts[i], parts[i + 1]);
    uint32_t last = kNone;
    while (!found.empty()) {
      const auto lowest = std::min_element(found.begin(), found.end());
      if (*lowest == kNone) break;
      const auto at = lowest - found.begin();
      last = *lowest;
      parts[static_cast<size_t>(at)] = merges[last][2];
      parts.erase(parts.begin() + at + 1);
      found.erase(lowest);
      for (const auto i : {at - 1, at}) {
        if (i >= 0 && i < static_cast<std::ptrdiff_t>(found.size()))
          found[static_cast<size_t>(i)] = orders.find(parts[static_cast<size_t>(i)], parts[static_cast<size_t>(i) + 1]);
      }
    }
    if (parts.size() == 1 && parts[0] == token.id) live.push_back(last);
  }
  std::sort(live.begin(), live.end());
  return live;
}

}  // namespace tokcli
