// What is shown of each character, by a table that Python fills as characters come, since its Unicode data decide; and
// text as people see it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "base/memory.h"
#include "text/utf8.h"

namespace tokcli {

// What is shown of a character outside ASCII: itself, itself as a mark on another, itself or a substitute as a kind of
// space, or only a substitute. The numbers are those of render/glyphs.py.
enum class GlyphKind : uint8_t { kUnknown, kPlain, kMark, kSpace, kHidden, kHiddenMark };

constexpr char kHex[] = "0123456789abcdef";
constexpr unsigned kMarksPerBase = 8;  // marks that one character carries: MARKS_PER_BASE of render/visible.py

// Threads may share a table; what one of them learns the others see sooner or later.
class Glyphs {
 public:
  static constexpr uint32_t kCodePoints = 0x110000;
  // of a value: the kind, whether the character is written from right to left, and above both its width
  static constexpr uint8_t kKind = 7, kFromRight = 8, kWidthShift = 4;

  Glyphs() : values_(kCodePoints) {}
  GlyphKind kind(uint32_t point) const { return static_cast<GlyphKind>(value(point) & kKind); }
  // Returns how many screen cells a character takes that is shown itself.
  unsigned width(uint32_t point) const { return value(point) >> kWidthShift; }
  bool is_from_right(uint32_t point) const { return value(point) & kFromRight; }
  // Returns the characters outside ASCII in a text that are unknown, each once; bytes that are not UTF-8 are passed over.
  std::vector<uint32_t> missing(Bytes text) const;
  // Sets the value of a code point.
  void learn(uint32_t point, uint8_t value) { __atomic_store_n(&values_[point], value, __ATOMIC_RELAXED); }

 private:
  uint8_t value(uint32_t point) const { return __atomic_load_n(&values_[point], __ATOMIC_RELAXED); }
  mutable ZeroedArray<uint8_t> values_;
};

// Returns the size in bytes of the character of UTF-8 at p < end; 0 where the byte there begins none.
inline size_t character_size(const uint8_t* p, const uint8_t* end) {
  const uint8_t lead = *p;
  if (lead < 0x80) return 1;
  const size_t size = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (size == 0 || static_cast<size_t>(end - p) < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (begins_char(p[i])) return 0;
  }
  const bool is_bad = (lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] >= 0xA0) ||  // too long; a surrogate
                      (lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] >= 0x90);    // too long; too large
  return is_bad ? 0 : size;
}

// The width of some text in screen cells, and whether any of it is written from right to left.
struct Extent {
  size_t width = 0;
  bool is_from_right = false;
};
// Appends text as `visible_bytes` of render/visible.py shows it; with `spaces`, spaces too are made visible.
Extent append_visible(Bytes text, bool spaces, const Glyphs& glyphs, ByteBuffer* out);

// Returns how many bytes of a text fit into `room` screen cells, as append_visible shows it with spaces: whole characters
// with their marks, of which at most `cluster` bytes stay together. 0 where all of it fits.
size_t fitting(Bytes text, size_t room, size_t cluster, const Glyphs& glyphs);

}  // namespace tokcli
