// How each character is shown, by the tables of Unicode 16.0 that render/glyphs.py has, too; and text as people see it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "text/utf8.h"
#include "views/glyph_tables.h"

namespace tokcli {

// What is shown of a character: itself, itself as a mark on another, itself or a substitute as a kind of space, or only a
// substitute. The numbers are those of render/glyphs.py.
enum class GlyphKind : uint8_t { kPlain = 1, kMark, kSpace, kHidden, kHiddenMark };

constexpr char kHex[] = "0123456789abcdef";
constexpr unsigned kMarksPerBase = 8;  // marks that one character carries: MARKS_PER_BASE of render/visible.py

// How a character is shown: a byte of the table.
class Glyph {
 public:
  constexpr explicit Glyph(uint8_t value) : value_(value) {}
  constexpr GlyphKind kind() const { return static_cast<GlyphKind>(value_ & 7); }
  constexpr bool is_mark() const { return kind() == GlyphKind::kMark || kind() == GlyphKind::kHiddenMark; }
  constexpr bool is_rtl() const { return value_ & 8; }
  // Returns whether JSON has \uNNNN in its place, so that a terminal does not act on it.
  constexpr bool is_escaped_in_json() const { return value_ & 16; }
  // Returns how many screen cells the character takes that is shown itself.
  constexpr unsigned width() const { return value_ >> 5; }

 private:
  uint8_t value_;
};

inline Glyph glyph_of(uint32_t point) {
  if (point >= kGlyphEnd) return Glyph(static_cast<uint8_t>(GlyphKind::kHidden) | 16);
  return Glyph(kGlyphIn[kGlyphBlocks[point / kGlyphBlock] * kGlyphBlock + point % kGlyphBlock]);
}

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
  bool is_rtl = false;
};
// Appends text as `visible_bytes` of render/visible.py shows it; with `spaces`, spaces too are made visible.
Extent append_visible(Bytes text, bool spaces, ByteBuffer* out);

// Returns how many bytes of a text fit into `room` screen cells, as append_visible shows it with spaces: whole characters
// with their marks, of which at most `cluster` bytes stay together. 0 where all of it fits.
size_t fitting(Bytes text, size_t room, size_t cluster);

}  // namespace tokcli
