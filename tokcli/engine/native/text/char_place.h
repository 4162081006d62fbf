// How many characters of a text are before a byte of it: places, and the spans of tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "text/utf8.h"

namespace tokcli {

// A place in a text: a byte, and the number of characters that begin before it. Places that are asked for are close to each
// other as a rule, so it moves from one to the next, on or back. Of the ASCII after it nothing needs to be counted.
class CharPlace {
 public:
  CharPlace() = default;
  explicit CharPlace(Bytes text) : text_(text) {}
  size_t byte_of(uint64_t character) {
    ascii_ = 0;
    while (chars_ > character) step_back();
    // the place is before the character that is looked for: at a byte that begins one, or at the end
    while (at_ < text_.size() && (chars_ < character || !begins_char(text_[at_]))) chars_ += begins_char(text_[at_++]);
    return at_;
  }
  // Returns the number of characters that begin before a byte, or of all.
  uint64_t character_of(uint64_t byte) {
    if (byte - at_ <= ascii_) return chars_ + (byte - at_);
    seek(std::min<uint64_t>(byte, text_.size()));
    return chars_;
  }
  bool is_after(uint64_t byte) const { return at_ > byte; }

 private:
  void step_back() { chars_ -= begins_char(text_[--at_]); }
  void seek(size_t byte) {
    if (at_ > byte) {
      while (at_ > byte) step_back();
    } else {
      at_ += ascii_;
      chars_ += ascii_;
      chars_ += byte - at_ - inner_bytes(text_.data() + at_, byte - at_, text_.data() + text_.size());
      at_ = byte;
    }
    ascii_ = ascii_run();
  }
  // Returns how many bytes from the place on are ASCII, or how many of these are near.
  size_t ascii_run() const {
    constexpr size_t kFar = size_t{1} << 10;
    const size_t most = std::min(text_.size() - at_, kFar);
    size_t size = 0;
    for (uint64_t bytes; size + sizeof bytes <= most; size += sizeof bytes) {
      std::memcpy(&bytes, text_.data() + at_ + size, sizeof bytes);
      if ((bytes & 0x8080808080808080u) != 0) break;
    }
    return size;
  }
  Bytes text_;
  size_t at_ = 0;
  size_t ascii_ = 0;  // so many bytes from the place on are ASCII, and perhaps more
  uint64_t chars_ = 0;
};

// Turns spans in the bytes of a text, one after the other, into spans in its characters. Starts ascend as a rule, and so do
// ends; a span may begin before the one before it ends.
class CharSpans {
 public:
  CharSpans() = default;
  explicit CharSpans(Bytes text) : first_(text), last_(text) {}
  void to_chars(uint64_t* span) {
    span[0] = (last_.is_after(span[0]) ? first_ : last_).character_of(span[0]);
    span[1] = last_.character_of(span[1]);
  }
  // Returns the number of characters before the end of a span.
  uint64_t end_at(size_t byte) { return last_.character_of(byte); }
  // The next spans begin at a byte or after it. Returns the number of characters before it.
  uint64_t begin_at(size_t byte) {
    const uint64_t chars = last_.character_of(byte);
    first_ = last_;
    return chars;
  }

 private:
  CharPlace first_, last_;
};

}  // namespace tokcli
