// Where the characters of a text that was changed come from. The twin of engine/pipeline/aligned.py: each character of
// the changed text stands for one character of the text before; one that was added, for the character before it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "text/utf8.h"

namespace tokcli {

// The origin of each character of a text: the byte at which the character that it stands for begins. They are kept where
// they do not go on as the text does.
class Origins {
 public:
  struct Break {
    size_t place, origin;
  };
  // All origins are those of a text that begins at byte `origin` and is not changed.
  void begin(size_t origin) { breaks_.assign(1, {0, origin}); }
  // Sets the origin of the character at `place`, which is after all places so far.
  void add(size_t place, size_t origin) {
    if (breaks_.empty() || place - breaks_.back().place != origin - breaks_.back().origin) breaks_.push_back({place, origin});
  }
  // Forgets the text from `place` on.
  void cut(size_t place) {
    while (!breaks_.empty() && breaks_.back().place >= place) breaks_.pop_back();
  }
  // Drops the first `size` bytes of the text.
  void drop(size_t size) {
    for (Break& found : breaks_) {
      const size_t left = std::min(found.place, size);
      found = {found.place - left, found.origin + size - left};
    }
    size_t first = 0;
    while (first + 1 < breaks_.size() && breaks_[first + 1].place == 0) ++first;
    breaks_.erase(breaks_.begin(), breaks_.begin() + static_cast<ptrdiff_t>(first));
  }
  const std::vector<Break>& breaks() const { return breaks_; }

 private:
  std::vector<Break> breaks_;
};

// Looks up origins; those of places one after the other are found at once.
class OriginReader {
 public:
  OriginReader() = default;
  explicit OriginReader(const Origins& origins) : breaks_(&origins.breaks()) {}
  size_t origin(size_t place) {
    if (place - first_ >= size_) [[unlikely]] seek(place);
    return place + shift_;
  }
  // Returns whether all origins of `size` bytes go on as the text does.
  bool is_straight(size_t place, size_t size) {
    if (place - first_ >= size_) [[unlikely]] seek(place);
    return size <= size_ - (place - first_);
  }
  // The text has become longer.
  void has_grown() { size_ = 0; }
  // Calls visit(place, origin) for all breaks from `place` on, and before `end`.
  template <class Visit>
  void each_break(size_t place, size_t end, const Visit& visit) {
    seek(place);
    visit(place, place + shift_);
    for (; at_ + 1 < breaks_->size() && (*breaks_)[at_ + 1].place < end; ++at_)
      visit((*breaks_)[at_ + 1].place, (*breaks_)[at_ + 1].origin);
  }

 private:
  void seek(size_t place) {
    const auto& all = *breaks_;
    constexpr size_t kNear = 8;  // breaks: as a rule the next place is not far away
    if (all[at_].place > place || (at_ + kNear < all.size() && all[at_ + kNear].place <= place)) {
      const auto is_before = [](size_t found, const Origins::Break& other) { return found < other.place; };
      const auto after = std::upper_bound(all.begin(), all.end(), place, is_before);
      at_ = after == all.begin() ? 0 : static_cast<size_t>(after - all.begin()) - 1;
    }
    while (at_ + 1 < all.size() && all[at_ + 1].place <= place) ++at_;
    first_ = all[at_].place;
    size_ = (at_ + 1 < all.size() ? all[at_ + 1].place : SIZE_MAX) - first_;
    shift_ = all[at_].origin - first_;
  }
  const std::vector<Origins::Break>* breaks_ = nullptr;
  size_t at_ = 0;
  // of the places from the last break found up to the next: the first of them, how many they are, and how far all of them
  // are before their origins (modulo 2^64)
  size_t first_ = 0, size_ = 0, shift_ = 0;
};

// Keeps the origins of a text while a step makes it of another one. All places are in order.
class Tracking {
 public:
  // `base`: the place of the text that is read in the text that `from` is about.
  Tracking(const Origins& from, Origins& to, size_t base = 0) : from_(from), to_(&to), base_(base) { to.cut(0); }
  // What is read next begins at `base` in the text that `from` is about.
  void read_from(size_t base) { base_ = base; }
  // Forgets what was made from `to` on.
  void cut(size_t to) { to_->cut(to); }
  // The text that is made ends at `to`, where what is at `from` would come next.
  void end(size_t from, size_t to) { to_->add(to, from_.origin(base_ + from)); }
  // The text that is made ends at `to`, where what was there would come next: it is forgotten.
  void end_before(size_t to) {
    const size_t origin = OriginReader(*to_).origin(to);
    to_->cut(to);
    to_->add(to, origin);
  }
  // The text that ended at `to` goes on, and ends at `next`, where the same comes next.
  void end_again(size_t to, size_t next) { to_->add(next, OriginReader(*to_).origin(to)); }
  // `size` bytes at `from` become as many at `to`, character by character.
  void copied(size_t from, size_t size, size_t to) {
    from_.each_break(base_ + from, base_ + from + size, [&](size_t place, size_t origin) {
      to_->add(to + (place - base_ - from), origin);
    });
  }
  // All characters of `text`, at `to`, stand for the one at `from`.
  void replaced(size_t from, std::string_view text, size_t to) {
    const size_t origin = from_.origin(base_ + from);
    for (size_t i = 0; i < text.size(); ++i) {
      if (begins_char(static_cast<uint8_t>(text[i]))) to_->add(to + i, origin);
    }
  }

 private:
  OriginReader from_;
  Origins* to_;
  size_t base_;
};

}  // namespace tokcli
