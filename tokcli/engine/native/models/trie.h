// Finding the strings that a text begins with.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/id_buffer.h"
#include "models/text_image.h"

namespace tokcli {

// A trie as a double array (Aoe 1989). The child of a node by a byte is at `base + byte`, if the unit there names the
// node as its parent: a step is one look, without a search.
class Trie {
 public:
  static constexpr uint32_t kRoot = 0;

  Trie() : units_(std::vector<Unit>(257)) {}
  // Builds the trie of distinct strings, each with a value; an empty string is left out.
  void build(const std::vector<std::string_view>& keys, const std::vector<uint32_t>& values);

  // Returns the node that a byte leads to; kNone where no string continues with it.
  uint32_t step(uint32_t node, uint8_t byte) const {
    const uint32_t to = units_[node].base + byte;
    return units_[to].parent == node ? to : kNone;
  }
  // Returns the value of the string that ends in a node; kNone where none ends there.
  uint32_t value(uint32_t node) const { return units_[node].value; }
  // Returns the value of a string; kNone where it is not in the trie.
  uint32_t find(Bytes text) const {
    uint32_t node = kRoot;
    for (size_t i = 0; i < text.size() && node != kNone; ++i) node = step(node, text[i]);
    return node == kNone ? kNone : units_[node].value;
  }
  // Finds the longest string that a text begins with. Returns its size, or 0 where there is none. `seen`, if it is given,
  // becomes the number of bytes that were looked at.
  size_t longest(const uint8_t* p, const uint8_t* end, uint32_t* value, size_t* seen = nullptr) const;

  template <class Archive>
  void fields(Archive& archive) {
    archive.table(units_);
  }
  bool has_node(uint32_t node) const { return node < units_.size(); }
  // Returns whether no step leads out of the table, and every value is below `values`.
  bool fits(uint64_t values) const;

 private:
  friend class TrieBuilder;
  friend class LongestSearch;
  struct Unit {
    uint32_t base = 1, parent = kNone, value = kNone;
  };
  class Backward;
  struct BackwardOnce;
  static std::shared_ptr<BackwardOnce> no_backward();
  const Backward& backward() const;
  std::vector<uint8_t> reversed(uint32_t node) const;
  Table<Unit> units_;  // at least 256 after the last base, so that every step stays inside
  std::shared_ptr<BackwardOnce> backward_ = no_backward();  // is built when a search needs it
};

// The longest strings of a trie that begin at places of one text, which are asked for from left to right, in time linear
// in the text. As a rule few bytes are looked at for each place. A text may be made so that there are many each time, as
// with "a...ab" in a text of "a": then the rest is read once, from its end, by an automaton of the strings reversed (Aho
// and Corasick 1975), whose states say for each place which of the strings begin there.
class LongestSearch {
 public:
  LongestSearch(const Trie& trie, Bytes text) : trie_(trie), begin_(text.data()), end_(text.data() + text.size()) {}
  // Finds the longest string at a place. Returns its size, or 0 where there is none.
  size_t at(const uint8_t* p, uint32_t* value) {
    if (is_backward_) [[unlikely]] return read_at(p, value);
    size_t seen;
    const size_t size = trie_.longest(p, end_, value, &seen);
    if (seen - size > kFar) [[unlikely]] is_backward_ = is_too_much(p, seen - size);
    return size;
  }

 private:
  static constexpr size_t kFar = 64;  // bytes that may be looked at in vain for each place
  bool is_too_much(const uint8_t* p, size_t seen);
  size_t read_at(const uint8_t* p, uint32_t* value);
  const Trie& trie_;
  const uint8_t *const begin_, *const end_;
  size_t wasted_ = 0;
  bool is_backward_ = false;
  std::vector<uint32_t> found_;  // from `first_` on, for each place a state of the automaton
  const uint8_t* first_ = nullptr;
};

}  // namespace tokcli
