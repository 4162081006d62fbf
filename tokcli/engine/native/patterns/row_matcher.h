// Where the pieces of a text end for several patterns in a row: each cuts the pieces that the one before it left.
//
// A piece is a text of its own for the next pattern, which finds matches in it; what is between two matches is a piece,
// too. So the first pattern takes a text piece by piece, and the others cut those pieces further, pattern by pattern,
// some hundred pieces at a time.
#pragma once

#include <memory>
#include <vector>

#include "base/worker_pool.h"
#include "patterns/matcher.h"

namespace tokcli {

// Where the matches of a pattern in a row cut text: around each; or each is a run of digits, in which threes are counted
// from its end, and cuts text where such a group ends (the first may be shorter), or where a group of three begins.
enum class Cut : uint8_t { kAround, kAfterThrees, kBeforeThrees };

// One pattern, which has to match all of a text; or patterns in a row, which need not.
struct Patterns {
  std::vector<Program> programs;
  std::vector<Cut> cuts;  // of each pattern in a row
  bool is_row = false;
  bool ends_words = false;  // a piece ends wherever the text of families may be cut (text.h)
};

// Finds the pieces of one text at a time; for one thread at a time. What is promised is what Matcher promises; pieces of
// a row have the alternative 0, and none is certain where more text may follow.
class RowMatcher {
 public:
  explicit RowMatcher(const Patterns& patterns);
  void begin(Bytes text, bool is_whole);
  void begin_search(Bytes text) { matchers_[0]->begin_search(text); }
  size_t find(const uint8_t* p, const uint8_t** ends, uint16_t* alternatives, size_t room) {
    return is_row_ ? find_in_row(p, ends, alternatives, room)
                   : matchers_[0]->find(p, ends, alternatives, room);
  }
  bool has_failed() const { return is_row_ ? has_failed_ : matchers_[0]->has_failed(); }

 private:
  static constexpr size_t kRoom = 256;  // pieces of the first pattern that are cut further at once
  size_t find_in_row(const uint8_t* p, const uint8_t** ends, uint16_t* alternatives, size_t room);
  bool find_more(const uint8_t* p);
  bool add_pieces(size_t level, const uint8_t* p, const uint8_t* end, size_t most);
  void add_run(Cut cut, const uint8_t* p, const uint8_t* end);
  // Adds text to the last piece, where that is open, or as a piece that is open.
  void add_open(const uint8_t* end) {
    if (is_open_) found_.back() = end;
    else found_.push_back(end);
    is_open_ = true;
  }

  std::vector<std::unique_ptr<Matcher>> matchers_;
  const std::vector<Cut> cuts_;
  const bool is_row_;
  const uint8_t* end_ = nullptr;                // of the text; null: no piece is certain
  std::vector<const uint8_t*> found_, before_;  // the ends of pieces, of the last pattern and the one before it
  size_t next_ = 0;                             // the first of `found_` that has not been given away
  bool is_open_ = false;                        // whether the text after the last of `found_` may belong to it
  bool has_failed_ = false;
};

using MatcherPool = WorkerPool<RowMatcher, Patterns>;

}  // namespace tokcli
