// Learning a byte pair encoding: the most frequent two neighbours become the next token, again and again.
// training/trainer.py is the specification in readable Python; the merges here are the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "training/piece_table.h"

namespace tokcli {

// Two ids that became the next token, and how often they were neighbours then.
struct LearnedMerge {
  uint64_t left, right, count;
};

// How often the most frequent of the pairs occurs that are left when no merge is: of those that may merge, and of those
// that would make too long a token; 0 where there are none.
struct PairsLeft {
  uint64_t most = 0, most_too_long = 0;
};

struct TrainerOptions {
  uint32_t vocab_size = 0;
  uint64_t min_frequency = 1;
  uint64_t max_token_bytes = 0;       // 0 for any size
  bool first_wins = false;            // of equally frequent pairs the first one wins; else the smallest ids do
  uint64_t memory = 0;                // bytes for lists and for counting pairs, roughly; 0 for any number
  std::vector<uint32_t> token_bytes;  // the size of each token that exists, by id; the first 256 ids are single bytes
};

// The pieces of a corpus, given as ids, in which merges are made.
class Trainer {
 public:
  static std::unique_ptr<Trainer> make(const TrainerOptions& options);
  virtual ~Trainer() = default;

  // Makes room for so many ids, as a hint.
  virtual void reserve(uint64_t parts) = 0;
  // Adds a piece that occurs `count` times, as ids.
  virtual void add(const uint32_t* ids, size_t size, uint64_t count) = 0;
  // Adds a piece that occurs `count` times, as bytes; `byte_ids` has their ids.
  virtual void add_bytes(std::string_view piece, uint64_t count) = 0;
  // Adds all pieces of a table, in their order or the most frequent first: that is faster, and the merges are the same
  // unless `first_wins`.
  void add_table(const PieceTable& table, bool in_order);
  std::vector<uint32_t> byte_ids;

  // Appends the next merges, until there are `limit` more or the time is over. Returns false when no merge is left to
  // make.
  virtual bool run(std::chrono::milliseconds time, size_t limit, std::vector<LearnedMerge>& merges) = 0;
  // Ends training, and returns which pairs are left.
  virtual PairsLeft end() = 0;
  // Returns whether a sum of counts might not fit a word: then run() must not be called.
  bool is_too_large() const { return is_too_large_; }

 protected:
  bool is_too_large_ = false;
};

}  // namespace tokcli
