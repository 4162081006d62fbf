// Finding many texts in one pass: see longest_match.h.
#include "models/longest_match.h"

#include "base/watch.h"

namespace tokcli {

LongestMatch::LongestMatch(const std::vector<std::string_view>& texts) {
  trie_.build(texts, std::vector<uint32_t>(texts.size()));
  for (const std::string_view text : texts) {
    if (!text.empty()) begins_[static_cast<uint8_t>(text[0])] = true;
  }
}

std::vector<uint64_t> LongestMatch::find(Bytes data, size_t most) const {
  std::vector<uint64_t> places;
  const uint8_t *const begin = data.data(), *const end = begin + data.size();
  Pace pace;
  for (const uint8_t* p = begin; p < end && places.size() / 2 < most;) {
    pace.step();
    uint32_t value;
    const size_t size = begins_[*p] ? trie_.longest(p, end, &value) : 0;
    if (size > 0) places.insert(places.end(), {static_cast<uint64_t>(p - begin), static_cast<uint64_t>(p - begin + size)});
    p += size > 0 ? size : 1;
  }
  return places;
}

}  // namespace tokcli
