// Finding many texts in one pass: see longest_match.h.
#include "models/longest_match.h"

#include <algorithm>
#include <numeric>

#include "base/watch.h"

namespace tokcli {
namespace {

constexpr size_t kLookBytes = 64;  // looked at together

// Returns whether two bytes are beside each other anywhere from the first kLookBytes bytes on. (A compiler makes a few
// vector instructions of this.)
bool has_pair(const uint8_t* p, uint8_t first, uint8_t second) {
  unsigned char found = 0;
  for (size_t i = 0; i < kLookBytes; ++i) found |= static_cast<unsigned char>((p[i] == first) & (p[i + 1] == second));
  return found != 0;
}

}  // namespace

LongestMatch::LongestMatch(const std::vector<std::string_view>& texts) : size_(texts.size()) {
  std::vector<uint32_t> numbers(texts.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  trie_.build(texts, numbers);
  for (const std::string_view text : texts) {
    if (!text.empty()) begins_.add(static_cast<uint8_t>(text[0]));
  }
  if (texts.empty()) return;
  pair_ = texts[0].substr(0, 2);
  for (const std::string_view text : texts) {
    if (pair_.size() < 2 || !text.starts_with(pair_)) pair_.clear();
  }
}

// Calls visit(first byte, past-the-end byte, number) for each text that is found, until it returns false.
template <class Visit>
void LongestMatch::each(Bytes data, const Visit& visit) const {
  const uint8_t *const begin = data.data(), *const end = begin + data.size();
  LongestSearch search(trie_, data);
  Pace pace;
  const auto first = static_cast<uint8_t>(pair_.empty() ? 0 : pair_[0]), second = static_cast<uint8_t>(pair_.empty() ? 0 : pair_[1]);
  const uint8_t* next_look = begin;  // up to here, every byte is tried
  for (const uint8_t* p = begin; p < end;) {
    if (!pair_.empty() && p >= next_look) {
      for (; static_cast<size_t>(end - p) > kLookBytes && !has_pair(p, first, second); p += kLookBytes) {
        pace.step(kLookBytes / 8);
      }
      next_look = p + std::min(kLookBytes, static_cast<size_t>(end - p));
    }
    if (pair_.empty()) {
      const uint8_t* const found = begins_.find(p, end);
      pace.step(static_cast<size_t>(found - p) / 8);
      if ((p = found) == end) break;
    }
    pace.step();
    uint32_t number;
    const size_t size = begins_.has(*p) ? search.at(p, &number) : 0;
    const auto at = static_cast<uint64_t>(p - begin);
    if (size > 0 && !visit(at, at + size, number)) return;
    p += size > 0 ? size : 1;
  }
}

std::vector<uint64_t> LongestMatch::find(Bytes data, size_t most) const {
  std::vector<uint64_t> places;
  if (most == 0) return places;
  each(data, [&](uint64_t begin, uint64_t end, uint32_t) {
    places.insert(places.end(), {begin, end});
    return places.size() / 2 < most;
  });
  return places;
}

std::vector<uint64_t> LongestMatch::find_numbered(Bytes data, const std::vector<uint64_t>& numbers) const {
  std::vector<uint64_t> places;
  each(data, [&](uint64_t begin, uint64_t end, uint32_t number) {
    places.insert(places.end(), {begin, end, numbers[number]});
    return true;
  });
  return places;
}

}  // namespace tokcli
