// How often each piece occurs: a table that fills as text is split, and its rows in order of their bytes, in blocks that
// can be stored, read back and merged. training/counts_file.py says what stands in a block.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "encoder.h"

namespace tokcli {

constexpr uint64_t kMaxCount = uint64_t{1} << 62;  // sums of two counts are exact, and fit a signed word

// Gives what was freed back to the system, which glibc would keep for later; nothing elsewhere.
void return_memory();

// Distinct pieces, numbered from 0 in the order in which they first came. A row for each stands in chunks that never move
// (what is frequent comes early, so the rows in use stand together), and an index of their numbers is what is searched.
class PieceTable {
 public:
  struct Piece {
    std::string_view bytes;
    uint64_t count;
  };

  // Counts the pieces of a text (UTF-8, complete: no piece goes on behind it).
  void count_text(Family family, Bytes text);
  // Counts one piece; empty ones are left out.
  void add(Bytes piece, uint64_t count) { add(piece.data(), piece.size(), piece.size(), count); }
  void add_all(const PieceTable& other);
  // Adds the rows of a block; false where it is damaged, and then some of them are counted.
  bool add_block(Bytes block);

  size_t size() const { return size_; }
  Piece operator[](size_t number) const;
  uint64_t bytes() const { return bytes_; }   // of the distinct pieces
  uint64_t memory() const;                    // that is taken, and will be while the index grows next
  bool has_overflown() const { return has_overflown_; }  // a count is beyond kMaxCount
  void clear();

  // The numbers of the pieces in ascending order of their bytes.
  std::vector<uint32_t> sorted() const;

 private:
  struct Row {
    Key key;  // of a piece that is longer than a key holds: its hash, and kLong with its number among the long ones
    uint64_t count;
  };
  static constexpr size_t kChunkBits = 14, kChunk = size_t{1} << kChunkBits;
  static constexpr uint64_t kLong = uint64_t{0xFF} << 56;
  static constexpr size_t kMaxPieces = 0xFFFFFFF0u;

  void add(const uint8_t* p, size_t size, size_t readable, uint64_t count);
  void add_long(const uint8_t* p, size_t size, uint64_t count);
  void insert(const Key& key, uint64_t count, size_t slot);
  void grow_index();
  Row& row(size_t number) { return chunks_[number >> kChunkBits][number & (kChunk - 1)]; }
  const Row& row(size_t number) const { return chunks_[number >> kChunkBits][number & (kChunk - 1)]; }
  std::string_view long_piece(const Key& key) const { return long_pieces_[key.high & ~kLong]; }
  static uint64_t index_hash(const Key& key) {
    return (key.high & kLong) == kLong ? key.low * kHashLow : hash_of(key);
  }

  std::vector<std::unique_ptr<Row[]>> chunks_;
  std::vector<uint32_t> index_;  // number + 1; 0 is free
  unsigned index_bits_ = 0;
  size_t size_ = 0;
  std::vector<std::unique_ptr<char[]>> long_pages_;
  std::vector<std::string_view> long_pieces_;
  size_t page_left_ = 0, long_bytes_ = 0;
  char* page_at_ = nullptr;
  uint64_t bytes_ = 0;
  bool has_overflown_ = false;
};

// Writes rows, in ascending order of their bytes, into a block.
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
  // The next row; false at the end, and where the block is damaged.
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

// Merges runs of blocks, each in ascending order of its pieces, into one; the counts of equal pieces are added.
class RunMerger {
 public:
  explicit RunMerger(size_t runs) : runs_(runs), awaiting_(runs) {}
  enum class State { kBlock, kNeedsInput, kDone, kDamaged, kOverflown };
  // The next block of a run that asked for one; an empty one ends it. false where it is damaged or out of order.
  bool feed(size_t run, std::string block);
  // Merges until a block is full (kBlock: take it) or a run has to be fed (kNeedsInput: run()).
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
  size_t awaiting_;             // runs that have not begun
  std::vector<size_t> heap_;    // of runs, the least piece first
  size_t wanted_ = 0;
  bool is_waiting_ = false;
  std::string pending_;
  uint64_t pending_count_ = 0;
  bool has_pending_ = false;
  BlockWriter writer_;
};

}  // namespace tokcli
