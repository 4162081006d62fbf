// How often each piece occurs: a table that fills as text is split. The twin of `PieceTable` in training/counts.py.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "patterns/splitting.h"

namespace tokcli {

constexpr uint64_t kMaxCount = uint64_t{1} << 62;  // the sum of two counts is exact, and fits a signed word

// Distinct pieces, numbered from 0 in the order in which they first came. Each has a row, in chunks of memory that
// never move; frequent pieces come early, so the rows that are most in use are together. Rows are found by an index, a
// hash table of their numbers.
class PieceTable {
 public:
  struct Piece {
    std::string_view bytes;
    uint64_t count;
  };

  // Counts the pieces of a text (UTF-8). The text is complete: its last piece ends with it.
  // Returns false where the pattern does not split all of it; then what comes before is counted.
  bool count_text(const Splitting& by, Bytes text);
  // Counts the pieces of a text that end at known places, the last one at its end.
  void count_split(Bytes text, std::span<const uint64_t> ends);
  // Adds `count` to the count of a piece; does nothing for an empty piece.
  void add(Bytes piece, uint64_t count) { add(piece.data(), piece.size(), piece.size(), count); }
  void add_all(const PieceTable& other);

  size_t size() const { return size_; }
  Piece operator[](size_t number) const;
  // Returns the sizes of all distinct pieces together.
  uint64_t bytes() const { return bytes_; }
  // Returns the memory in bytes that the table has taken, or will have when its index grows next.
  uint64_t memory() const;
  // Returns whether a count is above kMaxCount.
  bool has_overflown() const { return has_overflown_; }
  void clear();

  // Returns the numbers of the pieces in ascending order of their bytes.
  std::vector<uint32_t> sorted() const;

 private:
  struct Row {
    // Of a longer piece than a key holds, `low` is its hash, and `high` is kLong with its number among the long pieces.
    Key key;
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
  uint64_t index_hash(const Key& key) const {
    return (key.high & kLong) == kLong ? key.low * kHashLow : seeded_hash(key, seed_);
  }

  Seed seed_ = process_seed();
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

}  // namespace tokcli
