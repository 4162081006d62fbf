// How a text is cut into pieces: by the scanner of a family of patterns, or by the programs of any patterns.
#pragma once

#include <vector>

#include "input/invalid.h"
#include "patterns/row_matcher.h"
#include "pretokenizers/pieces.h"

namespace tokcli {

struct Splitting {
  Family family{};
  MatcherPool* pattern = nullptr;  // if it is not null, the family does not count

  // Returns whether a text may be cut between an ASCII letter or digit and a space or newline after it.
  bool may_cut() const { return pattern == nullptr || pattern->source().ends_words; }
};

// Calls `use(find)` for a text, where find(p, ends, room, keys) writes the ends of the next pieces from p on and returns their
// number, as FindEnds does. Returns false where the pattern failed: it found no piece before the text was over.
template <class Use>
bool with_finder(const Splitting& by, Bytes text, const Use& use) {
  if (by.pattern == nullptr) {
    const FindEnds find_ends = finder(by.family, instructions());
    const uint8_t* const end = text.data() + text.size();
    use([=](const uint8_t* p, const uint8_t** ends, size_t room, PieceKeys* keys = nullptr) {
      return find_ends(p, end, ends, room, keys);
    });
    return true;
  }
  const MatcherPool::Lease matcher(*by.pattern);
  matcher->begin(text, true);
  use([&](const uint8_t* p, const uint8_t** ends, size_t room, PieceKeys* = nullptr) {
    return matcher->find(p, ends, nullptr, room);
  });
  return !matcher->has_failed();
}

// Splits text among bytes that are not UTF-8: these belong to the last piece before them, and the text after them splits
// afresh. Appends the ends of the pieces from `start` on, counted from there, up to the last such byte that nothing after
// the data can change, or to the first one `some` bytes or more after `start`; before `start` is text that a pattern may look
// back at. Returns false where the pattern failed.
bool split_invalid(const Splitting& by, Bytes data, size_t start, bool is_whole, std::vector<uint64_t>* ends,
                   size_t some = SIZE_MAX);

}  // namespace tokcli
