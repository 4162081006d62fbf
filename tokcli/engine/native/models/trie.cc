// Building a double array: see trie.h.
#include "models/trie.h"

#include <algorithm>
#include <numeric>

#include "base/watch.h"

namespace tokcli {

namespace {
constexpr size_t kFar = 256;   // bytes after which looking for a string is work that callers do not count
constexpr size_t kTries = 16;  // so many bases are tried among the used units; then a node goes after all of them
}

size_t Trie::longest(const uint8_t* p, const uint8_t* end, uint32_t* value) const {
  size_t found = 0;
  uint32_t node = kRoot;
  const uint8_t* at = p;
  while (at < end) {
    node = step(node, *at++);
    if (node == kNone) break;
    if (units_[node].value == kNone) continue;
    *value = units_[node].value;
    found = static_cast<size_t>(at - p);
  }
  if (static_cast<size_t>(at - p) > kFar) [[unlikely]] work_done(static_cast<size_t>(at - p));
  return found;
}

// Finds places for the nodes of a trie.
class TrieBuilder {
 public:
  using Unit = Trie::Unit;
  std::vector<Unit> units_ = std::vector<Unit>(257);
  uint32_t place_for(const std::vector<uint8_t>& labels);

 private:
  size_t cursor_ = 1;  // no unit before this is free; the root's own unit never is
  size_t end_ = 1;     // every unit from here on is free
};

// Returns a base with which the unit of every label is free.
uint32_t TrieBuilder::place_for(const std::vector<uint8_t>& labels) {
  while (cursor_ < units_.size() && units_[cursor_].parent != kNone) ++cursor_;
  const size_t first = labels.front();
  size_t tries = 0;
  for (size_t at = std::max(cursor_, first + 1);; ++at) {
    if (++tries > kTries) at = std::max(at, end_);
    const size_t base = at - first;
    if (units_.size() < base + 257) units_.resize(std::max(base + 257, units_.size() * 5 / 4));
    const auto is_free = [&](uint8_t label) { return units_[base + label].parent == kNone; };
    if (!std::all_of(labels.begin(), labels.end(), is_free)) continue;
    end_ = std::max(end_, base + labels.back() + 1);
    return static_cast<uint32_t>(base);
  }
}

void Trie::build(const std::vector<std::string_view>& keys, const std::vector<uint32_t>& values) {
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  // A node, and the keys that go through it: order[begin] up to order[end].
  struct Pending {
    uint32_t node;
    size_t begin, end, depth;
  };
  TrieBuilder builder;
  std::vector<Unit>& units = builder.units_;
  std::vector<Pending> pending{{kRoot, 0, order.size(), 0}};
  std::vector<uint8_t> labels;
  std::vector<size_t> begins;
  while (!pending.empty()) {
    Pending keys_of_node = pending.back();
    pending.pop_back();
    while (keys_of_node.begin < keys_of_node.end && keys[order[keys_of_node.begin]].size() == keys_of_node.depth) {
      if (keys_of_node.depth > 0) units[keys_of_node.node].value = values[order[keys_of_node.begin]];
      ++keys_of_node.begin;
    }
    if (keys_of_node.begin == keys_of_node.end) continue;
    labels.clear();
    begins.clear();
    for (size_t i = keys_of_node.begin; i < keys_of_node.end; ++i) {
      const auto label = static_cast<uint8_t>(keys[order[i]][keys_of_node.depth]);
      if (labels.empty() || labels.back() != label) {
        labels.push_back(label);
        begins.push_back(i);
      }
    }
    begins.push_back(keys_of_node.end);
    const uint32_t base = builder.place_for(labels);
    units[keys_of_node.node].base = base;
    for (const uint8_t label : labels) units[base + label].parent = keys_of_node.node;
    for (size_t i = labels.size(); i-- > 0;)
      pending.push_back({base + labels[i], begins[i], begins[i + 1], keys_of_node.depth + 1});
  }
  units_ = std::move(units);
}

bool Trie::fits(uint64_t values) const {
  return units_.size() >= 257 && std::all_of(units_.begin(), units_.end(), [&](const Unit& unit) {
    return unit.base <= units_.size() - 256 && (unit.value < values || unit.value == kNone);
  });
}

}  // namespace tokcli
