// Showing text: see glyphs.h.
#include "views/glyphs.h"

#include <algorithm>
#include <string_view>

namespace tokcli {
namespace {

constexpr char kCapitals[] = "0123456789ABCDEF";
constexpr size_t kShownBytes = 1024;            // bytes that are shown together
constexpr size_t kMostShown = 8;           // bytes that a byte can become: of one that is not UTF-8
constexpr size_t kEnds = 32;               // and beside them

// Shows text character by character.
class Shower {
 public:
  explicit Shower(bool spaces) : spaces_(spaces) {}

  // Shows the first character before `end` > p, and moves `p` after it. Returns where it was written to, up to `to`.
  uint8_t* show(const uint8_t*& p, const uint8_t* end, uint8_t* to) {
    const size_t size = character_size(p, end);
    if (size == 0) return show_bad(*p++, to);
    if (in_bad_) to = end_bad(to);
    if (size == 1) return show_ascii(*p++, to);
    const uint8_t* const begin = p;
    const uint32_t point = next_char(p, end);
    const Glyph glyph = glyph_of(point);
    const GlyphKind kind = glyph.kind();
    const bool is_mark = kind == GlyphKind::kMark;
    if (!is_mark && kind != GlyphKind::kPlain && (kind != GlyphKind::kSpace || spaces_)) return show_point(point, to);
    if (is_mark && room_ == 0) to = put("\u25CC", to);  // a dotted circle
    room_ = !is_mark ? kMarksPerBase : room_ == 0 ? kMarksPerBase - 1 : room_ - 1;
    extent_.width += glyph.width();
    extent_.is_rtl |= glyph.is_rtl();
    return std::copy(begin, p, to);
  }
  // Ends a run of bytes that are not UTF-8, if the text ends in one.
  uint8_t* finish(uint8_t* to) { return in_bad_ ? end_bad(to) : to; }
  // Returns the extent of what was shown; of a run of bytes that are not UTF-8 as if it ended here.
  Extent extent() const { return {extent_.width + in_bad_, extent_.is_rtl}; }

 private:
  // Writes a text of which each character takes one cell; only the first byte of a character is no continuation.
  uint8_t* put(std::string_view text, uint8_t* to) {
    for (const char c : text) extent_.width += begins_char(static_cast<uint8_t>(c));
    return std::copy(text.begin(), text.end(), to);
  }
  uint8_t* show_ascii(uint8_t byte, uint8_t* to) {
    if (byte > 0x20 && byte < 0x7F) [[likely]] {
      room_ = kMarksPerBase;
      ++extent_.width;
      *to++ = byte;
      return to;
    }
    if (byte == ' ' && !spaces_) {
      room_ = kMarksPerBase;
      return put(" ", to);
    }
    room_ = 0;
    if (byte == ' ') return put("\u00B7", to);
    if (byte == '\n') return put("\u23CE", to);
    if (byte == '\t') return put("\u2192", to);
    if (byte == 0x7F) return put("\u2421", to);
    ++extent_.width;  // the picture U+2400 + byte
    *to++ = 0xE2;
    *to++ = 0x90;
    *to++ = static_cast<uint8_t>(0x80 + byte);
    return to;
  }
  uint8_t* show_point(uint32_t point, uint8_t* to) {
    room_ = 0;
    to = put("\u27E8U+", to);
    for (int digits = point > 0xFFFFF ? 6 : point > 0xFFFF ? 5 : 4; digits > 0; --digits)
      to = put({&kCapitals[point >> 4 * (digits - 1) & 15], 1}, to);
    return put("\u27E9", to);
  }
  uint8_t* show_bad(uint8_t byte, uint8_t* to) {
    to = put(in_bad_ ? " " : "\u27E8", to);
    in_bad_ = true;
    to = put({&kHex[byte >> 4], 1}, to);
    return put({&kHex[byte & 15], 1}, to);
  }
  uint8_t* end_bad(uint8_t* to) {
    in_bad_ = false;
    room_ = 0;
    return put("\u27E9", to);
  }

  const bool spaces_;
  Extent extent_;
  unsigned room_ = 0;  // marks that the character before can still carry
  bool in_bad_ = false;
};

}  // namespace

Extent append_visible(Bytes text, bool spaces, ByteBuffer* out) {
  Shower shower(spaces);
  for (const uint8_t *p = text.data(), *const end = p + text.size(); p < end;) {
    const uint8_t* const stop = p + std::min<size_t>(static_cast<size_t>(end - p), kShownBytes);
    uint8_t* const first = out->reserve(static_cast<size_t>(stop - p) * kMostShown + kEnds);
    uint8_t* to = first;
    while (p < stop) to = shower.show(p, end, to);
    if (p == end) to = shower.finish(to);
    out->commit(static_cast<size_t>(to - first));
  }
  return shower.extent();
}

size_t fitting(Bytes text, size_t room, size_t cluster) {
  Shower shower(true);
  size_t base = 0;  // where the last character that is not a mark begins
  uint8_t shown[kMostShown * 4 + kEnds];
  const uint8_t *const begin = text.data(), *const end = begin + text.size();
  for (const uint8_t* p = begin; p < end;) {
    const auto at = static_cast<size_t>(p - begin);
    const bool is_long = character_size(p, end) > 1;
    (void)shower.show(p, end, shown);
    const uint8_t* q = begin + at;
    const bool is_mark = is_long && glyph_of(next_char(q, end)).is_mark();
    if (!is_mark || at - base >= cluster) base = at;
    if (base > 0 && shower.extent().width > room) return base;
  }
  return 0;
}

}  // namespace tokcli
