// What a round of training knows of pairs of neighbours: tables of them, and memory for the lists of their places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/hash.h"

namespace tokcli {

using Place = uint32_t;  // in the row of symbols

// Two ids that are neighbours, how often they occur, and a list of the places where they do.
struct CountedPair {
  uint64_t key = kNoPair;  // left << 32 | right
  uint64_t count = 0;
  Place* places = nullptr;
  uint32_t size = 0;  // of the list
  static constexpr uint64_t kNoPair = ~uint64_t{0};
};

constexpr uint64_t pair_key(uint64_t left, uint64_t right) { return left << 32 | right; }

// Pairs by key, in a hash table (open addressing with linear probing).
class PairTable {
 public:
  explicit PairTable(unsigned bits = 10) : slots_(size_t{1} << bits), bits_(bits) {}
  CountedPair* find(uint64_t key) {
    for (size_t slot = first(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].key == key) return &slots_[slot];
      if (slots_[slot].key == CountedPair::kNoPair) return nullptr;
    }
  }
  // Returns the pair of a key, which is added where there is none: other pairs may move.
  CountedPair& operator[](uint64_t key) {
    if (size_ * 2 >= slots_.size()) grow();
    return at(key);
  }
  size_t size() const { return size_; }
  const std::vector<CountedPair>& slots() const { return slots_; }

 private:
  size_t first(uint64_t key) const { return high_bits(mix(key ^ seed_, kHashLow), bits_); }
  CountedPair& at(uint64_t key) {
    for (size_t slot = first(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].key == key) return slots_[slot];
      if (slots_[slot].key == CountedPair::kNoPair) {
        slots_[slot].key = key;
        ++size_;
        return slots_[slot];
      }
    }
  }
  void grow() {
    std::vector<CountedPair> old(slots_.size() * 2);
    old.swap(slots_);
    ++bits_;
    size_ = 0;
    for (const CountedPair& pair : old) {
      if (pair.key != CountedPair::kNoPair) at(pair.key) = pair;
    }
  }
  std::vector<CountedPair> slots_;
  unsigned bits_;
  size_t size_ = 0;
  uint64_t seed_ = process_seed().low;
};

// How often each pair occurs: as PairTable, but in half the memory, as there are many more of them.
class PairCounts {
 public:
  struct Slot {
    uint64_t key = CountedPair::kNoPair;
    uint64_t count = 0;
  };
  PairCounts() : slots_(size_t{1} << 12), bits_(12) {}
  void add(uint64_t key, uint64_t count) {
    for (size_t slot = first(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].key == key) {
        slots_[slot].count += count;
        return;
      }
      if (slots_[slot].key != CountedPair::kNoPair) continue;
      slots_[slot] = {key, count};
      if (++size_ * 8 >= slots_.size() * 5) grow();
      return;
    }
  }
  const std::vector<Slot>& slots() const { return slots_; }
  // Returns the memory in bytes that the table took at most, when it grew from half its size.
  size_t memory() const { return slots_.size() * sizeof(Slot) * 3 / 2; }

 private:
  size_t first(uint64_t key) const { return high_bits(mix(key ^ seed_, kHashLow), bits_); }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    ++bits_;
    for (const Slot& from : old) {
      if (from.key == CountedPair::kNoPair) continue;
      size_t slot = first(from.key);
      while (slots_[slot].key != CountedPair::kNoPair) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = from;
    }
  }
  std::vector<Slot> slots_;
  unsigned bits_;
  size_t size_ = 0;
  uint64_t seed_ = process_seed().low;
};

// Memory for lists of places, freed all at once with the round.
class PlaceArena {
 public:
  // Returns room for so many places.
  Place* allocate(size_t size) {
    if (left_ < size) {
      const size_t page = std::max(size, kPlacesPerPage);
      pages_.push_back(std::make_unique_for_overwrite<Place[]>(page));
      size_ += page;
      at_ = pages_.back().get();
      left_ = page;
    }
    Place* const out = at_;
    at_ += size;
    left_ -= size;
    return out;
  }
  // Returns the room of all pages, in places.
  size_t size() const { return size_; }

 private:
  static constexpr size_t kPlacesPerPage = size_t{1} << 16;
  std::vector<std::unique_ptr<Place[]>> pages_;
  Place* at_ = nullptr;
  size_t left_ = 0, size_ = 0;
};

}  // namespace tokcli
