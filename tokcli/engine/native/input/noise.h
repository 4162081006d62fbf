// Bytes that are not UTF-8 among text.
#pragma once

#include "base/bytes.h"
#include "base/id_buffer.h"

namespace tokcli {

// Text up to `bad`, and bytes from there up to `end` that belong to no character; none of them where both are the same.
struct NoisyRun {
  size_t bad, end;
  bool is_open;  // more bytes could belong to it, or make the last ones a character
};

// Returns the next such run from `at` on. `is_whole`: nothing follows the data.
NoisyRun next_run(Bytes data, size_t at, bool is_whole);

// Appends the data with U+FFFD in place of each bad sequence, as Python's errors="replace" has them, up to `limit` bytes;
// returns the number of bytes of the data that this took.
size_t replace_noise(Bytes data, size_t limit, ByteBuffer* out);

}  // namespace tokcli
