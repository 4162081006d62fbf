// Building a double array: see trie.h.
#include "models/trie.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "base/watch.h"

namespace tokcli {

namespace {
constexpr size_t kWasted = size_t{1} << 20;  // bytes that a search looks at in vain before it reads backwards
constexpr size_t kEach = 16;                 // the same, for each byte of the text before
constexpr size_t kBlock = size_t{1} << 16;   // bytes of text that are read backwards at once
constexpr size_t kTries = 16;  // so many bases are tried among the used units; then a node goes after all of them
}

size_t Trie::longest(const uint8_t* p, const uint8_t* end, uint32_t* value, size_t* seen) const {
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
  if (static_cast<size_t>(at - p) > kUncounted) [[unlikely]] work_done(static_cast<size_t>(at - p));
  if (seen != nullptr) *seen = static_cast<size_t>(at - p);
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
  backward_ = no_backward();
}

bool Trie::fits(uint64_t values) const {
  return units_.size() >= 257 && std::all_of(units_.begin(), units_.end(), [&](const Unit& unit) {
    return unit.base <= units_.size() - 256 && (unit.value < values || unit.value == kNone);
  });
}

// The automaton of the strings reversed. A state is a node of their trie: the longest of its strings that the text read
// last ends with, if it is read from its end.
class Trie::Backward {
 public:
  explicit Backward(const Trie& trie);
  uint32_t next(uint32_t state, uint8_t byte) const {
    uint32_t to;
    while ((to = trie_.step(state, byte)) == kNone && state != kRoot) state = links_[state];
    return to == kNone ? kRoot : to;
  }
  // Returns the node of the longest whole string that a state ends with; kNone where there is none.
  uint32_t found(uint32_t state) const { return found_[state]; }
  uint32_t size(uint32_t node) const { return depths_[node]; }
  uint32_t value(uint32_t node) const { return trie_.value(node); }
  size_t longest() const { return longest_; }

 private:
  Trie trie_;
  std::vector<uint32_t> links_, found_, depths_;
  size_t longest_ = 0;
};

struct Trie::BackwardOnce {
  std::once_flag flag;
  std::unique_ptr<const Backward> made;
};

std::shared_ptr<Trie::BackwardOnce> Trie::no_backward() { return std::make_shared<BackwardOnce>(); }

const Trie::Backward& Trie::backward() const {
  std::call_once(backward_->flag, [&] { backward_->made = std::make_unique<const Backward>(*this); });
  return *backward_->made;
}

// Returns the string of a node from its last byte to its first.
std::vector<uint8_t> Trie::reversed(uint32_t node) const {
  std::vector<uint8_t> bytes;
  while (node != kRoot && node < units_.size() && bytes.size() < units_.size()) {  // (else an image is damaged)
    const uint32_t parent = units_[node].parent;
    if (parent >= units_.size()) break;
    bytes.push_back(static_cast<uint8_t>(node - units_[parent].base));
    node = parent;
  }
  return bytes;
}

Trie::Backward::Backward(const Trie& trie) {
  std::vector<std::vector<uint8_t>> strings;
  std::vector<uint32_t> values;
  Pace pace;
  for (uint32_t node = 0; node < trie.units_.size(); ++node) {
    if (trie.units_[node].value == kNone || trie.units_[node].parent == kNone) continue;
    strings.push_back(trie.reversed(node));
    values.push_back(trie.units_[node].value);
    longest_ = std::max(longest_, strings.back().size());
    pace.step(strings.back().size());
  }
  std::vector<std::string_view> views(strings.size());
  std::transform(strings.begin(), strings.end(), views.begin(), [](const auto& bytes) { return view_of(bytes); });
  trie_.build(views, values);
  links_.assign(trie_.units_.size(), kRoot);
  found_.assign(trie_.units_.size(), kNone);
  depths_.assign(trie_.units_.size(), 0);
  // level by level, since a link leads to a node nearer to the root
  std::vector<uint32_t> nodes(strings.size(), kRoot), open(strings.size());
  std::iota(open.begin(), open.end(), 0u);
  for (uint32_t depth = 0; !open.empty(); ++depth) {
    std::erase_if(open, [&](uint32_t i) { return strings[i].size() == depth; });
    for (const uint32_t i : open) {
      pace.step();
      const uint8_t byte = strings[i][depth];
      const uint32_t parent = nodes[i], node = nodes[i] = trie_.step(parent, byte);
      if (depths_[node] != 0) continue;
      depths_[node] = depth + 1;
      if (parent != kRoot) links_[node] = next(links_[parent], byte);
      found_[node] = trie_.value(node) != kNone ? node : found_[links_[node]];
    }
  }
}

// Returns whether so much was looked at in vain up to a place that the rest of the text is better read backwards.
bool LongestSearch::is_too_much(const uint8_t* p, size_t seen) {
  wasted_ += seen;
  return wasted_ > kWasted && (wasted_ - kWasted) / kEach > static_cast<size_t>(p - begin_);
}

size_t LongestSearch::read_at(const uint8_t* p, uint32_t* value) {
  const Trie::Backward& backward = trie_.backward();
  if (found_.empty() || static_cast<size_t>(p - first_) >= found_.size()) {
    const auto left = static_cast<size_t>(end_ - p);
    const size_t size = std::min(left, std::max(kBlock, 4 * backward.longest()));
    found_.assign(size, kNone);
    first_ = p;
    uint32_t state = Trie::kRoot;
    Pace pace;
    for (size_t i = std::min(left, size + backward.longest()); i-- > 0;) {
      pace.step();
      state = backward.next(state, p[i]);
      if (i < size) found_[i] = backward.found(state);
    }
  }
  const uint32_t node = found_[static_cast<size_t>(p - first_)];
  if (node == kNone) return 0;
  *value = backward.value(node);
  return backward.size(node);
}

}  // namespace tokcli
