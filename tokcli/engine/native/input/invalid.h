// Bytes that are not UTF-8 among text.
#pragma once

#include "base/bytes.h"
#include "base/id_buffer.h"

namespace tokcli {

// Text up to `bad`, and bytes from there up to `end` that belong to no character; none of them where both are the same.
struct InvalidRun {
  size_t bad, end;
  bool is_open;  // more bytes could belong to it, or make the last ones a character
};

// Finds one such run after another, from byte `at` of the data on, where no character is cut. `is_whole`: nothing follows
// the data.
class InvalidReader {
 public:
  InvalidReader(Bytes data, size_t at, bool is_whole) : data_(data), at_(at), window_(at), is_whole_(is_whole) { load(0); }
  InvalidRun next();

 private:
  static constexpr size_t kWindowBytes = 64;
  void load(size_t inside);
  size_t seek(bool is_text);

  const Bytes data_;
  size_t at_, window_;  // where reading goes on, and where the window begins that it is in
  uint64_t text_ = 0;   // has a bit for each byte of the window that is part of a character
  size_t carried_ = 0;  // bytes after the window that belong to its last character
  const bool is_whole_;
};

// Returns the end of the last run that nothing after the data can change; 0 where there is none.
size_t last_invalid(Bytes data, bool is_whole);

// Appends the data with U+FFFD in place of each bad sequence, as Python's errors="replace" has them, up to `limit` bytes;
// returns the number of bytes of the data that this took.
size_t replace_invalid(Bytes data, size_t limit, ByteBuffer* out);

}  // namespace tokcli
