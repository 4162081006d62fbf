// Counts of pieces in blocks, which can be stored, read back and merged. training/counts_file.py describes a block:
// rows in ascending order of their pieces, each as the number of bytes that it shares with the piece before, the other
// bytes, and the count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "training/piece_table.h"

namespace tokcli {

// Writes rows, in ascending order of their bytes, to a block.
class BlockWriter {
 public:
  void add(std::string_view piece, uint64_t count);
  size_t size() const { return out_.size(); }
  std::string take() {
    last_.clear();
    return std::move(out_);
  }

 private:
  std::string out_, last_;
};

// Reads the rows of a block.
class BlockReader {
 public:
  explicit BlockReader(Bytes block = {}) : at_(block.data()), end_(block.data() + block.size()) {}
  // Reads the next row. Returns false at the end, and where the block is damaged.
  bool next();
  bool is_damaged() const { return is_damaged_; }
  std::string_view piece() const { return piece_; }
  uint64_t count() const { return count_; }

 private:
  bool number(uint64_t* out);
  const uint8_t *at_, *end_;
  std::string piece_;
  uint64_t count_ = 0;
  bool is_damaged_ = false;
};

// Adds the rows of a block to a table. Returns false where the block is damaged; some of its rows are counted then.
bool add_rows(PieceTable& table, Bytes block);

// Merges runs into one. A run is several blocks whose rows ascend from the first to the last; the counts of equal
// pieces are added.
class RunMerger {
 public:
  explicit RunMerger(size_t runs) : runs_(runs), awaiting_(runs) {}
  enum class State { kBlock, kNeedsInput, kDone, kDamaged, kOverflown };
  // Gives the next block to a run that needs one; an empty block ends the run. Returns false where the block is damaged
  // or out of order.
  bool feed(size_t run, std::string block);
  // Merges until a block is full (kBlock: take() it) or a run needs its next block (kNeedsInput: run() says which).
  State merge(size_t block_bytes);
  size_t run() const { return wanted_; }
  std::string take() { return writer_.take(); }
  bool has_rows() const { return writer_.size() > 0; }

 private:
  struct Run {
    std::string block;
    BlockReader reader;
    std::string last;
    bool is_open = true;
  };
  bool advance(size_t run);
  bool is_above(size_t a, size_t b) const { return runs_[a].reader.piece() > runs_[b].reader.piece(); }
  void push(size_t run);

  std::vector<Run> runs_;
  size_t awaiting_;           // runs that have no block yet
  std::vector<size_t> heap_;  // runs, the one with the smallest piece first
  size_t wanted_ = 0;         // the run that needs a block
  bool is_waiting_ = false;
  std::string pending_;
  uint64_t pending_count_ = 0;
  bool has_pending_ = false;
  BlockWriter writer_;
};

}  // namespace tokcli
