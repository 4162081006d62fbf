// Where the pieces of a text end, many at a time: in windows of 64 bytes, and by scan.h where these do not tell.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "base/processor.h"
#include "pretokenizers/families.h"

#if defined(TOKCLI_SSE2)
#include <emmintrin.h>
#endif

namespace tokcli {

constexpr size_t kWindow = 64;  // bytes that are looked at together

// A table of cache lines, in one of which a piece is looked up by its key.
struct LineTable {
  static constexpr unsigned kLine = 64, kMostBits = 16;  // bytes of a line; there are at most 1 << kMostBits lines
  void* first;
  size_t last;  // where the last line begins that is in use: their number is a power of two
  static LineTable of(void* first, size_t lines) { return {first, (lines - 1) * kLine}; }
  size_t lines() const { return last / kLine + 1; }
  // A key is folded into one word (low ^ high), so that one multiplication hashes it: keys that share a line for that only
  // take each other's place, as all keys of a line are compared whole.
  void* line_of(uint64_t folded) const {
    constexpr unsigned kShift = 64 - kMostBits - std::countr_zero(kLine);
    return static_cast<uint8_t*>(first) + (folded * kHashLow >> kShift & last);
  }
  void* line_of(const Key& key) const { return line_of(key.low ^ key.high); }
};

// The keys of pieces, made as the pieces are found, and the lines of a table where they are looked up, which are asked for.
// (Hashing goes on while the processor waits for where the next window begins. Profile: with a loop of its own, and two
// multiplications, a second pass over English takes 1.1 times as long.)
struct PieceKeys {
  static constexpr size_t kReadable = 16;  // bytes from the beginning of a piece on
  Key* keys;                               // kLongKey for pieces above 15 bytes
  void** lines;
  LineTable table;
  size_t count = 0;  // the pieces that have a key, the first ones; set by who finds them
  // Makes the key of a piece of which kReadable bytes may be read.
  void set(size_t i, const uint8_t* p, size_t size) const {
#if defined(TOKCLI_SSE2)
    const KeyRow& row = kKeyRows[std::min(size, kKeyBytes + 1)];
    const auto read = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
    const __m128i key = _mm_or_si128(_mm_and_si128(read(p), read(&row.mask)), read(&row.size));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&keys[i]), key);
    const __m128i folded = _mm_xor_si128(key, _mm_unpackhi_epi64(key, key));
    ask_for(i, table.line_of(static_cast<uint64_t>(_mm_cvtsi128_si64(folded))));
#else
    set(i, key_of(p, size, kReadable));
#endif
  }
  void set(size_t i, const Key& key) const {
    keys[i] = key;
    ask_for(i, table.line_of(key));
  }

 private:
  void ask_for(size_t i, void* line) const {
    lines[i] = line;
    __builtin_prefetch(line);
  }
};

// Writes the ends of the next pieces from p < end on, until there are `room` or the text is over, and returns their
// number. Up to kWindow ends more than `room` may be written. For one family all of these functions find the same
// pieces. Where `keys` is not null, keys of the first pieces are made, too, of all or fewer; they need as much room.
using FindEnds = size_t (*)(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room, PieceKeys* keys);

// Returns the fastest such function of a family for a processor with these instructions.
FindEnds finder(Family family, Instructions use);

}  // namespace tokcli
