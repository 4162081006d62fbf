// All pieces that are trained on, in one row of symbols (ids), with kEnd after each piece.
//
// A token may span several symbols. It has its id at the first and at the last of them, and `span` says how many
// symbols each id spans: so both neighbours of a token are found from where it begins, without any links. Pieces beside
// each other with the same weight (how often they occur) are a group, whose weight is stored once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/watch.h"
#include "training/pair_tables.h"

namespace tokcli {

// Symbol has 16 bits where all ids fit, which halves the memory that is read most.
template <class Symbol>
class SymbolRow {
 public:
  static constexpr Symbol kEnd = std::numeric_limits<Symbol>::max();
  static constexpr Symbol kGone = kEnd - 1;           // where a token began that has become the right side of another
  static constexpr uint64_t kMaxSymbols = 0xFFFFFFF0u;  // places have 32 bits

  Symbol& operator[](size_t place) { return symbols_[place]; }
  Symbol operator[](size_t place) const { return symbols_[place]; }
  size_t size() const { return symbols_.size(); }
  // The number of symbols that a token spans, since the last pack().
  Place& span(Symbol id) { return span_[id]; }
  Place span(Symbol id) const { return span_[id]; }

  void reserve(uint64_t symbols) {
    if (symbols < kMaxSymbols) symbols_.reserve(static_cast<size_t>(symbols) + 1);
  }
  // Appends a piece whose i-th id is id_at(i). Returns false where there is no room.
  template <class IdAt>
  bool add(size_t size, uint64_t weight, const IdAt& id_at) {
    if (symbols_.size() + size + 1 >= kMaxSymbols) return false;
    if (group_weights_.empty() || group_weights_.back() != weight) {
      group_starts_.push_back(static_cast<Place>(symbols_.size()));
      group_weights_.push_back(weight);
    }
    for (size_t i = 0; i < size; ++i) symbols_.push_back(id_at(i));
    symbols_.push_back(kEnd);
    return true;
  }
  // Ends adding, when there will be at most `ids` ids.
  void begin(size_t ids) {
    span_.assign(ids, 1);
    group_starts_.push_back(0);  // which pack() replaces
  }

  // Packs the row: one symbol for each token, and no pieces that have become one token.
  void pack() {
    Pace pace;
    size_t out = 1, groups_out = 0;
    group_starts_.back() = static_cast<Place>(symbols_.size());
    for (size_t group = 0; group + 1 < group_starts_.size(); ++group) {
      const size_t group_out = out, end = group_starts_[group + 1];
      for (size_t at = group_starts_[group]; at < end;) {
        const size_t begin = out;
        while (symbols_[at] != kEnd) {
          pace.step();
          const Symbol id = symbols_[at];
          symbols_[out++] = id;
          at += span_[id];
        }
        ++at;
        if (out - begin > 1) symbols_[out++] = kEnd;
        else out = begin;
      }
      if (out == group_out) continue;
      if (groups_out && group_weights_[groups_out - 1] == group_weights_[group]) continue;
      group_weights_[groups_out] = group_weights_[group];
      group_starts_[groups_out++] = static_cast<Place>(group_out);
    }
    symbols_.resize(out);
    if (symbols_.capacity() > 2 * out) symbols_.shrink_to_fit();
    group_weights_.resize(groups_out);
    group_starts_.resize(groups_out);
    std::fill(span_.begin(), span_.end(), 1);
    index_groups();
  }

  // How often the piece at a place occurs.
  uint64_t weight_at(Place place) const {
    size_t group = group_of_block_[place >> kBlockBits];
    while (group_starts_[group + 1] <= place) ++group;
    return group_weights_[group];
  }

  // Calls visit(place, key, weight) for each pair of neighbours in a row that has just been packed.
  template <class Visit>
  void each_pair(const Visit& visit) const {
    Pace pace;
    for (size_t group = 0; group < group_weights_.size(); ++group) {
      const uint64_t weight = group_weights_[group];
      const size_t end = std::min<size_t>(group_starts_[group + 1], symbols_.size());
      for (size_t at = group_starts_[group]; at + 1 < end; ++at) {
        pace.step();
        if (symbols_[at] != kEnd && symbols_[at + 1] != kEnd)
          visit(static_cast<Place>(at), pair_key(symbols_[at], symbols_[at + 1]), weight);
      }
    }
  }

  // Returns whether a pair is still at a place where it once was.
  bool has_pair(uint64_t key, Place place) const {
    const auto left = static_cast<Symbol>(key >> 32), right = static_cast<Symbol>(key);
    return symbols_[place] == left && symbols_[place + span_[left]] == right;
  }

 private:
  static constexpr unsigned kBlockBits = 5;  // the group of every 2^5 symbols is stored, and searched from there on

  void index_groups() {
    group_of_block_.resize((symbols_.size() >> kBlockBits) + 1);
    size_t group = 0;
    group_starts_.push_back(std::numeric_limits<Place>::max());
    for (size_t block = 0; block < group_of_block_.size(); ++block) {
      while (group + 2 < group_starts_.size() && group_starts_[group + 1] <= block << kBlockBits) ++group;
      group_of_block_[block] = static_cast<uint32_t>(group);
    }
  }

  std::vector<Symbol> symbols_{kEnd};
  std::vector<Place> span_;
  std::vector<Place> group_starts_;  // and, from begin() on, an end
  std::vector<uint64_t> group_weights_;
  std::vector<uint32_t> group_of_block_;
};

}  // namespace tokcli
