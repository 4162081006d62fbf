// Cutting pieces of pieces: see row_matcher.h.
#include "patterns/row_matcher.h"

#include <algorithm>
#include <array>

namespace tokcli {

RowMatcher::RowMatcher(const Patterns& patterns) : is_row_(patterns.is_row) {
  for (const Program& program : patterns.programs) matchers_.push_back(std::make_unique<Matcher>(program));
}

void RowMatcher::begin(Bytes text, bool is_whole) {
  if (!is_row_) return matchers_[0]->begin(text, is_whole);
  for (const auto& matcher : matchers_) matcher->begin_search(text);
  end_ = is_whole ? text.data() + text.size() : nullptr;
  found_.clear();
  next_ = 0;
  has_failed_ = false;
}

size_t RowMatcher::find_in_row(const uint8_t* p, const uint8_t** ends, uint16_t* alternatives, size_t room) {
  size_t count = 0;
  while (count < room && (next_ < found_.size() || find_more(p))) {
    const size_t taken = std::min(room - count, found_.size() - next_);
    std::copy_n(found_.data() + next_, taken, ends + count);
    if (alternatives != nullptr) std::fill_n(alternatives + count, taken, uint16_t{0});
    next_ += taken;
    count += taken;
    p = ends[count - 1];
  }
  return count;
}

// Fills `found_` with the next pieces. Returns false where the text is over, or a pattern takes too much time.
bool RowMatcher::find_more(const uint8_t* p) {
  found_.clear();
  next_ = 0;
  if (end_ == nullptr || p == end_ || has_failed_) return false;
  has_failed_ = !add_pieces(*matchers_[0], p, end_, kRoom);
  for (size_t level = 1; level < matchers_.size() && !has_failed_; ++level) {
    std::swap(found_, before_);
    found_.clear();
    const uint8_t* at = p;
    for (const uint8_t* end : before_) {
      Matcher& matcher = *matchers_[level];
      if (matcher.may_match_in(at, end)) {
        matcher.begin_part({at, static_cast<size_t>(end - at)});
        has_failed_ |= !add_pieces(matcher, at, end, SIZE_MAX);
      } else {
        found_.push_back(end);
      }
      at = end;
    }
  }
  if (has_failed_) found_.clear();
  return !has_failed_;
}

// Adds the ends of a pattern's matches from p on and of the text between them: of all of them, or of `most` or a few
// more. Returns false where it takes too much time.
bool RowMatcher::add_pieces(Matcher& matcher, const uint8_t* p, const uint8_t* end, size_t most) {
  std::array<const uint8_t*, 64> ends;
  std::array<uint16_t, 64> alternatives;
  bool is_match = true;
  for (size_t added = 0; p < end && (added < most || !is_match);) {
    const size_t count = matcher.find(p, ends.data(), alternatives.data(), added < most ? ends.size() : 1);
    if (count == 0) return false;
    for (size_t i = 0; i < count; ++i) {
      const bool was_match = is_match;
      is_match = alternatives[i] != 0;
      if (!is_match && !was_match) found_.back() = ends[i];  // more text that no match takes
      else found_.push_back(ends[i]);
    }
    added += count;
    p = ends[count - 1];
  }
  return true;
}

}  // namespace tokcli
