// Strings by their beginnings: which of them a text begins with. And strings by all of their bytes.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "image.h"
#include "utf8.h"

namespace tokcli {

constexpr uint32_t kNothing = 0xFFFFFFFFu;

// A double array (Aoe 1989): the child of a node by a byte stands at `base + byte`, and names its parent.
class Trie {
 public:
  static constexpr uint32_t kRoot = 0;

  Trie() : units_(std::vector<Unit>(257)) {}
  // Of distinct strings, each with a value; an empty one is left out.
  void build(const std::vector<std::string_view>& keys, const std::vector<uint32_t>& values);

  // The node that a byte leads to; kNothing where no string goes on so.
  uint32_t step(uint32_t node, uint8_t byte) const {
    const uint32_t to = units_[node].base + byte;
    return units_[to].parent == node ? to : kNothing;
  }
  // The value of the string that ends in a node; kNothing where none does.
  uint32_t value(uint32_t node) const { return units_[node].value; }
  // The longest string that `text` begins with: its size, 0 where there is none.
  size_t longest(const uint8_t* p, const uint8_t* end, uint32_t* value) const;

  template <class Archive>
  void parts(Archive& archive) {
    archive.table(units_);
  }
  bool has_node(uint32_t node) const { return node < units_.size(); }
  // Whether no step leads out of the table, and every value is below `values`.
  bool fits(uint64_t values) const;

 private:
  friend class TrieBuilder;
  struct Unit {
    uint32_t base = 1, parent = kNothing, value = kNothing;
  };
  Table<Unit> units_;  // 256 more than the last base
};

inline uint64_t hash_text(const uint8_t* p, size_t size) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15u;
  const auto load = [](const uint8_t* from, size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, from, count);
    return word;
  };
  uint64_t hash = size * kOdd;
  for (; size > 8; p += 8, size -= 8) {
    hash = (hash ^ load(p, 8)) * kOdd;
    hash ^= hash >> 29;
  }
  uint64_t tail;
  if (size == 8) tail = load(p, 8);
  else if (size >= 4) tail = load(p, 4) | load(p + size - 4, 4) << 32;
  else tail = size == 0 ? 0 : p[0] | static_cast<uint64_t>(p[size / 2]) << 8 | static_cast<uint64_t>(p[size - 1]) << 16;
  hash = (hash ^ tail) * kOdd;
  hash ^= hash >> 32;
  return hash * 0xD6E8FEB86659FD93u;
}

// Distinct strings, numbered as they were given.
class Strings {
 public:
  // `sizes` add up to the bytes; false where two are equal.
  bool build(std::string_view blob, const std::vector<uint32_t>& sizes);
  uint32_t find(const uint8_t* p, size_t size) const {
    const uint64_t hash = hash_text(p, size);
    for (size_t slot = hash >> shift_;; slot = (slot + 1) & mask_) {
      const Slot& found = slots_[slot];
      if (found.number == kNothing) return kNothing;
      if (found.tag != static_cast<uint32_t>(hash)) continue;
      const std::string_view text = (*this)[found.number];
      if (text.size() == size && std::memcmp(text.data(), p, size) == 0) return found.number;
    }
  }
  std::string_view operator[](uint32_t number) const {
    return {blob_.data() + starts_[number], starts_[number + 1] - starts_[number]};
  }
  size_t size() const { return starts_.size() - 1; }

  template <class Archive>
  void parts(Archive& archive) {
    archive.table(blob_);
    archive.table(starts_);
    archive.table(slots_);
    if constexpr (Archive::kReads) measure();
  }
  bool fits() const;

 private:
  struct Slot {
    uint32_t tag = 0, number = kNothing;
  };
  void measure();

  Table<char> blob_;
  Table<uint32_t> starts_{std::vector<uint32_t>{0}};
  Table<Slot> slots_{std::vector<Slot>(2)};  // a power of two, at least half of it empty
  unsigned shift_ = 63;
  size_t mask_ = 1;
};

}  // namespace tokcli
