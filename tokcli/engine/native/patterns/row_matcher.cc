// Cutting pieces of pieces: see row_matcher.h.
#include "patterns/row_matcher.h"

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace tokcli {

RowMatcher::RowMatcher(const Patterns& patterns) : cuts_(patterns.cuts), is_row_(patterns.is_row) {
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
  has_failed_ = !add_pieces(0, p, end_, kRoom);
  for (size_t level = 1; level < matchers_.size() && !has_failed_; ++level) {
    std::swap(found_, before_);
    found_.clear();
    const uint8_t* at = p;
    for (const uint8_t* end : before_) {
      Matcher& matcher = *matchers_[level];
      if (matcher.may_match_in(at, end)) {
        matcher.begin_part({at, static_cast<size_t>(end - at)});
        has_failed_ |= !add_pieces(level, at, end, SIZE_MAX);
      } else {
        found_.push_back(end);
      }
      at = end;
    }
  }
  if (has_failed_) found_.clear();
  return !has_failed_;
}

// Adds the ends of the pieces that a pattern cuts from p on: of all of them, or of `most` or a few more. Returns false
// where it takes too much time.
bool RowMatcher::add_pieces(size_t level, const uint8_t* p, const uint8_t* end, size_t most) {
  std::array<const uint8_t*, 64> ends;
  std::array<uint16_t, 64> alternatives;
  is_open_ = false;
  for (size_t added = 0; p < end && (added < most || is_open_);) {
    const size_t count = matchers_[level]->find(p, ends.data(), alternatives.data(), added < most ? ends.size() : 1);
    if (count == 0) return false;
    for (size_t i = 0; i < count; ++i) {
      if (alternatives[i] == 0) {
        add_open(ends[i]);  // text that no match takes
      } else if (cuts_[level] == Cut::kAround) {
        found_.push_back(ends[i]);
        is_open_ = false;
      } else {
        add_run(cuts_[level], p, ends[i]);
      }
      p = ends[i];
    }
    added += count;
  }
  return true;
}

// Adds the pieces that a run of digits cuts. What is not cut off before it belongs to the first of them, and after
// kBeforeThrees the last one stays open.
void RowMatcher::add_run(Cut cut, const uint8_t* p, const uint8_t* end) {
  const auto size = static_cast<size_t>(std::count_if(p, end, [](uint8_t byte) { return begins_char(byte); }));
  size_t group = size % 3;
  for (size_t left = size; left > 0; left -= group, group = 3) {
    if (group == 0) group = 3;
    if (cut == Cut::kBeforeThrees && group == 3) is_open_ = false;
    for (size_t i = 0; i < group; ++i) {
      do ++p;
      while (p < end && !begins_char(*p));
    }
    add_open(p);
    if (cut == Cut::kAfterThrees) is_open_ = false;
  }
}

}  // namespace tokcli
