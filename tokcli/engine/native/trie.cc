#include "trie.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tokcli {

namespace {
constexpr size_t kTries = 16;  // places that do not fit, before a node goes to the end
}

size_t Trie::longest(const uint8_t* p, const uint8_t* end, uint32_t* value) const {
  size_t found = 0;
  uint32_t node = kRoot;
  for (const uint8_t* at = p; at < end;) {
    node = step(node, *at++);
    if (node == kNothing) break;
    if (units_[node].value == kNothing) continue;
    *value = units_[node].value;
    found = static_cast<size_t>(at - p);
  }
  return found;
}

// Finds places for the nodes of a trie.
class TrieBuilder {
 public:
  using Unit = Trie::Unit;
  std::vector<Unit> units_ = std::vector<Unit>(257);
  uint32_t place_for(const std::vector<uint8_t>& labels);

 private:
  size_t cursor_ = 1, end_ = 1;  // nothing is free before the one, everything from the other on; the root's own place is nobody's
};

// A base at which every label's place is free.
uint32_t TrieBuilder::place_for(const std::vector<uint8_t>& labels) {
  while (cursor_ < units_.size() && units_[cursor_].parent != kNothing) ++cursor_;
  const size_t first = labels.front();
  size_t tries = 0;
  for (size_t at = std::max(cursor_, first + 1);; ++at) {
    if (++tries > kTries) at = std::max(at, end_);
    const size_t base = at - first;
    if (units_.size() < base + 257) units_.resize(std::max(base + 257, units_.size() * 5 / 4));
    const auto is_free = [&](uint8_t label) { return units_[base + label].parent == kNothing; };
    if (!std::all_of(labels.begin(), labels.end(), is_free)) continue;
    end_ = std::max(end_, base + labels.back() + 1);
    return static_cast<uint32_t>(base);
  }
}

void Trie::build(const std::vector<std::string_view>& keys, const std::vector<uint32_t>& values) {
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  struct Part {  // the keys order[begin..end) go through a node
    uint32_t node;
    size_t begin, end, depth;
  };
  TrieBuilder builder;
  std::vector<Unit>& units = builder.units_;
  std::vector<Part> pending{{kRoot, 0, order.size(), 0}};
  std::vector<uint8_t> labels;
  std::vector<size_t> begins;
  while (!pending.empty()) {
    Part part = pending.back();
    pending.pop_back();
    while (part.begin < part.end && keys[order[part.begin]].size() == part.depth) {
      if (part.depth > 0) units[part.node].value = values[order[part.begin]];
      ++part.begin;
    }
    if (part.begin == part.end) continue;
    labels.clear();
    begins.clear();
    for (size_t i = part.begin; i < part.end; ++i) {
      const auto label = static_cast<uint8_t>(keys[order[i]][part.depth]);
      if (labels.empty() || labels.back() != label) {
        labels.push_back(label);
        begins.push_back(i);
      }
    }
    begins.push_back(part.end);
    const uint32_t base = builder.place_for(labels);
    units[part.node].base = base;
    for (const uint8_t label : labels) units[base + label].parent = part.node;
    for (size_t i = labels.size(); i-- > 0;) pending.push_back({base + labels[i], begins[i], begins[i + 1], part.depth + 1});
  }
  units_ = std::move(units);
}

bool Trie::fits(uint64_t values) const {
  return units_.size() >= 257 && std::all_of(units_.begin(), units_.end(), [&](const Unit& unit) {
    return unit.base <= units_.size() - 256 && (unit.value < values || unit.value == kNothing);
  });
}

void Strings::measure() {
  mask_ = std::bit_floor(std::max<size_t>(slots_.size(), 2)) - 1;
  shift_ = static_cast<unsigned>(std::countl_zero(mask_));
}

bool Strings::build(std::string_view blob, const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> starts{0};
  starts.reserve(sizes.size() + 1);
  uint64_t at = 0;
  for (const uint32_t size : sizes) starts.push_back(static_cast<uint32_t>(at += size));
  if (at != blob.size() || at > UINT32_MAX) return false;
  blob_ = std::vector<char>(blob.begin(), blob.end());
  starts_ = std::move(starts);
  std::vector<Slot> slots(std::bit_ceil(sizes.size() * 2 + 2));
  slots_ = Table<Slot>::at(slots);
  measure();
  for (uint32_t number = 0; number < sizes.size(); ++number) {
    const Bytes text = bytes_of((*this)[number]);
    if (find(text.data(), text.size()) != kNothing) return false;
    const uint64_t hash = hash_text(text.data(), text.size());
    size_t slot = hash >> shift_;
    while (slots[slot].number != kNothing) slot = (slot + 1) & mask_;
    slots[slot] = {static_cast<uint32_t>(hash), number};
  }
  slots_ = std::move(slots);
  return true;
}

bool Strings::fits() const {
  if (starts_.empty() || starts_[0] != 0 || starts_[starts_.size() - 1] != blob_.size()) return false;
  if (!std::is_sorted(starts_.begin(), starts_.end()) || slots_.size() != mask_ + 1) return false;
  size_t empty = 0;
  for (const Slot& slot : slots_) {
    if (slot.number == kNothing) ++empty;
    else if (slot.number >= size()) return false;
  }
  return empty > 0;
}

}  // namespace tokcli
