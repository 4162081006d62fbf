// Finding the strings that a text begins with.
#pragma once

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
  // Finds the longest string that a text begins with. Returns its size, or 0 where there is none.
  size_t longest(const uint8_t* p, const uint8_t* end, uint32_t* value) const;

  template <class Archive>
  void fields(Archive& archive) {
    archive.table(units_);
  }
  bool has_node(uint32_t node) const { return node < units_.size(); }
  // Returns whether no step leads out of the table, and every value is below `values`.
  bool fits(uint64_t values) const;

 private:
  friend class TrieBuilder;
  struct Unit {
    uint32_t base = 1, parent = kNone, value = kNone;
  };
  Table<Unit> units_;  // at least 256 after the last base, so that every step stays inside
};

}  // namespace tokcli
