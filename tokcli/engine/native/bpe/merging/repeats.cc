// Merging runs: see repeats.h.
#include "bpe/merging/repeats.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tokcli {
namespace {

constexpr uint32_t kUnknown = kNone - 1;  // a rank that has not been looked up yet
constexpr size_t kMostWidth = 4;          // bytes of a unit: any character
constexpr size_t kMostCells = 64;         // of a window, before anything is merged
constexpr size_t kLeastBytes = 8;         // for each cell: else merging one pair after another is as fast

// Returns how many bytes at p, at most `most`, are those at p + distance.
size_t same_bytes(const uint8_t* p, size_t distance, size_t most) {
  constexpr size_t kBlock = 32;
  size_t at = 0;
  for (; most - at >= kBlock; at += kBlock) {  // (a compiler makes a few vector instructions of this)
    uint64_t different = 0;
    for (size_t i = 0; i < kBlock; i += 8) different |= read_word(p + at + i) ^ read_word(p + at + i + distance);
    if (different != 0) break;
  }
  while (at < most && p[at] == p[at + distance]) ++at;
  return at;
}

// Returns the bytes of the unit that is repeated at p; 0 where none is.
size_t unit_at(const uint8_t* p, size_t size) {
  if (size > 1 && p[0] == p[1]) return 1;
  if (size < 8 + kMostWidth) return 0;
  const uint64_t word = read_word(p);
  for (size_t width = 2; width <= kMostWidth; ++width) {
    if (read_word(p + width) == word) return width;
  }
  return 0;
}

}  // namespace

bool RepeatMerger::may_repeat(const uint8_t* p, size_t size) {
  constexpr size_t kRead = 48, kLeast = 32;
  if (size < kRead + kMostWidth) return false;
  for (size_t width = 1; width <= kMostWidth; ++width) {
    uint8_t same = 0;
    for (size_t i = 0; i < kRead; ++i) same = static_cast<uint8_t>(same + (p[i] == p[i + width]));
    if (same >= kLeast) return true;
  }
  return false;
}

bool RepeatMerger::repeats(const uint8_t* p) {
  for (size_t width = 1; width <= kMostWidth; ++width) {
    if (read_word(p) == read_word(p + width) && std::memcmp(p, p + width, kRepeats - kMostWidth) == 0) return true;
  }
  return false;
}

bool RepeatMerger::merge(const Vocabulary& v, const uint8_t* p, size_t size) {
  read(v, p, size);
  if (bytes_ < cells_.size() * kLeastBytes) return false;
  for (uint32_t made = 0;;) {
    const uint32_t rank = lowest(v, made);
    if (rank == kNone) return true;
    if (rank == kUnknown) return false;
    // What a merge makes is beside the left part of the next pair until that is merged, too.
    if (v.merged(rank, left_) < rank || !open_units(rank) || lowest(v, made) != rank) return false;
    merge_all(rank);
    made = rank;
  }
}

// Fills the cells of a window with bytes.
void RepeatMerger::read(const Vocabulary& v, const uint8_t* p, size_t size) {
  cells_.clear();
  bytes_ = sure_bytes_ = 0;
  while (bytes_ < size && cells_.size() < kMostCells) {
    const uint8_t* const at = p + bytes_;
    const size_t left = size - bytes_, unit = unit_at(at, left), width = std::max<size_t>(unit, 1);
    const size_t count = unit == 0 ? 1 : 1 + same_bytes(at, unit, left - unit) / unit;
    if (cells_.size() <= kMostCells * 3 / 4) sure_bytes_ = bytes_;
    for (size_t i = 0; i < width; ++i) {
      cells_.push_back({v.byte_part(at[i]), 1, static_cast<uint32_t>(count), static_cast<uint32_t>(width), kUnknown, kUnknown});
    }
    bytes_ += width * count;
  }
}

// Looks up the ranks that are unknown, and returns the lowest of all; kNone where no pair merges, kUnknown where one is
// lower than `made`, the rank of the last merge.
uint32_t RepeatMerger::lowest(const Vocabulary& v, uint32_t made) {
  uint32_t best = kNone;
  const auto look_up = [&](uint32_t& rank, const RepeatCell& left, const RepeatCell& right) {
    if (rank == kUnknown) rank = v.merged(left.part, right.part);
    if (rank >= best) return;
    best = rank;
    left_ = left.part;
  };
  for (size_t i = 0; i < cells_.size();) {
    RepeatCell* const unit = &cells_[i];
    RepeatCell& last = unit[unit->width - 1];
    i += unit->width;
    for (RepeatCell* cell = unit; cell < &last; ++cell) look_up(cell->rank, cell[0], cell[1]);
    if (i < cells_.size()) look_up(last.rank, last, cells_[i]);
    else last.rank = kNone;
    if (unit->count > 1) look_up(unit->wrap, last, *unit);
  }
  return best < made ? kUnknown : best;
}

// Adds a unit of one cell, or adds to the one before it if that is the same.
void RepeatMerger::add(const RepeatCell& cell, uint32_t count) {
  if (count == 0) return;
  if (!next_.empty() && next_.back().part == cell.part && next_.back().width == 1) {
    next_.back().count += count;
    next_.back().rank = cell.rank;
    return;
  }
  next_.push_back({cell.part, cell.size, count, 1, cell.rank, cell.width == 1 ? cell.wrap : kUnknown});
}

// Adds what a merge has made.
void RepeatMerger::add_made(uint32_t part, uint32_t size, uint32_t count) {
  if (!next_.empty()) next_.back().rank = kUnknown;
  add({part, size, count, 1, kUnknown, kUnknown}, count);
}

// Adds a unit of some cells: one by one where it is not repeated.
void RepeatMerger::add_unit(const RepeatCell* cells, uint32_t width, uint32_t count) {
  if (width == 1 || count < 2) {
    for (uint32_t k = 0; k < width; ++k) add(cells[k], count);
    return;
  }
  for (uint32_t k = 0; k < width; ++k) {
    next_.push_back({cells[k].part, cells[k].size, count, width, cells[k].rank, cells[0].wrap});
  }
}

// Takes apart each unit of several cells of which an end merges: with what is beside it, or with the unit after it. Those
// ends become cells of their own; where units merge with each other, what they make begins the units that are left.
// Returns false where two equal parts merge there: which of them do depends on how many there are.
bool RepeatMerger::open_units(uint32_t rank) {
  bool is_opened = false;
  next_.clear();
  for (size_t i = 0; i < cells_.size(); i += cells_[i].width) {
    const RepeatCell* const unit = &cells_[i];
    const uint32_t width = unit->width;
    const RepeatCell& last = unit[width - 1];
    const bool before = i > 0 && cells_[i - 1].rank == rank, after = last.rank == rank, wraps = unit->wrap == rank;
    if (width == 1 || !(before || after || wraps)) {
      add_unit(unit, width, unit->count);
      continue;
    }
    if ((before && cells_[i - 1].part == unit->part) || (after && last.part == unit[width].part) ||
        (wraps && last.part == unit->part))
      return false;
    is_opened = true;
    std::array<RepeatCell, kMostWidth> cells;
    std::copy_n(unit, width, cells.begin());
    for (uint32_t k = 0; k < width; ++k) cells[k].rank = kUnknown;
    if (wraps) {
      add_unit(cells.data(), width - 1, 1);
      cells[0] = {rank, last.size + unit->size, 0, 0, kUnknown, kUnknown};
      add_unit(cells.data(), width - 1, unit->count - 1);
      add(cells[width - 1], 1);
    } else {
      if (before) add_unit(cells.data(), width, 1);
      add_unit(cells.data(), width, unit->count - before - after);
      if (after) add_unit(cells.data(), width, 1);
    }
  }
  if (is_opened) cells_.swap(next_);
  return true;
}

// Merges all pairs of a rank.
void RepeatMerger::merge_all(uint32_t rank) {
  next_.clear();
  for (size_t i = 0; i < cells_.size(); i += cells_[i].width) {
    const RepeatCell cell = cells_[i];
    if (cell.width > 1) {
      merge_in_unit(&cells_[i], rank);
    } else if (cell.count > 1 && cell.wrap == rank) {
      add_made(rank, 2 * cell.size, cell.count / 2);
      add(cell, cell.count % 2);
    } else if (cell.count > 0 && cell.rank == rank) {
      add(cell, cell.count - 1);
      add_made(rank, cell.size + cells_[i + 1].size, 1);
      --cells_[i + 1].count;
    } else {
      add(cell, cell.count);
    }
  }
  cells_.swap(next_);
}

// Merges the pairs of a rank that are inside of a unit.
void RepeatMerger::merge_in_unit(const RepeatCell* cells, uint32_t rank) {
  std::array<RepeatCell, kMostWidth> left;
  uint32_t width = 0;
  for (uint32_t k = 0; k < cells->width; ++k) {
    left[width] = cells[k];
    if (k + 1 < cells->width && cells[k].rank == rank) {
      left[width] = {rank, cells[k].size + cells[k + 1].size, 0, 0, kUnknown, kUnknown};
      left[0].wrap = kUnknown;
      if (width > 0) left[width - 1].rank = kUnknown;
      else if (!next_.empty()) next_.back().rank = kUnknown;
      ++k;
    }
    ++width;
  }
  add_unit(left.data(), width, cells->count);
}

}  // namespace tokcli
