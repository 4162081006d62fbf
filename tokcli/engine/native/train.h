// Byte pair encoding is learnt here: which two neighbours become the next token, again and again. trainer.py is the
// specification in readable Python; this gives the same merges.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "piece_table.h"

namespace tokcli {

struct Merge {
  uint64_t left, right, count;
};

struct TrainerOptions {
  uint32_t vocab_size = 0;
  uint64_t min_frequency = 1;
  uint64_t max_token_bytes = 0;       // 0: any
  bool first_wins = false;            // of equally frequent pairs the one that comes first; else the smallest ids
  uint64_t memory = 0;                // bytes for lists, and for counting pairs, beside the pieces, about; 0: any
  std::vector<uint32_t> token_bytes;  // of the tokens that there are, by id; the first 256 ids are the single bytes
};

// Pieces, given as the ids of their parts, on which merges are made.
class Trainer {
 public:
  static std::unique_ptr<Trainer> make(const TrainerOptions& options);
  virtual ~Trainer() = default;

  // Room for so many parts; a hint.
  virtual void reserve(uint64_t parts) = 0;
  virtual void add(const uint32_t* ids, size_t size, uint64_t count) = 0;
  // The same for bytes, whose ids `byte_ids` says.
  virtual void add_bytes(std::string_view piece, uint64_t count) = 0;
  // All pieces of a table: in their order, or (faster, the merges are the same) the most frequent first.
  void add_table(const PieceTable& table, bool in_order);
  std::vector<uint32_t> byte_ids;

  // Appends the next merges, until there are `limit` more or the time is over; false when there is none left to make.
  virtual bool run(std::chrono::milliseconds time, size_t limit, std::vector<Merge>& merges) = 0;
  // Whether a sum of counts might not fit a word: then there is nothing to be run.
  bool is_too_large() const { return is_too_large_; }

 protected:
  bool is_too_large_ = false;
};

}  // namespace tokcli
