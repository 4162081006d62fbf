// Turning code points into UTF-8, and finding places to cut: see text.h.
#include "text.h"

#include <cstring>

namespace tokcli {
namespace {

// Eight units at once where all are ASCII.
template <class Unit>
bool copy_ascii(const Unit* from, uint8_t* to) {
  Unit all = 0;
  for (size_t i = 0; i < 8; ++i) all |= from[i];
  if (all >= 0x80) return false;
  for (size_t i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(from[i]);
  return true;
}

template <class Unit>
size_t convert(const Unit* p, size_t size, uint8_t* out) {
  uint8_t* q = out;
  for (size_t i = 0; i < size;) {
    if (size - i >= 8 && copy_ascii(p + i, q)) {
      i += 8;
      q += 8;
      continue;
    }
    // up to eight one by one: what is not ASCII comes in groups
    for (const size_t stop = size - i < 8 ? size : i + 8; i < stop; ++i) {
      const uint32_t point = p[i];
      if (point < 0x80) {
        *q++ = static_cast<uint8_t>(point);
      } else if (point < 0x800) {
        *q++ = static_cast<uint8_t>(0xC0 | point >> 6);
        *q++ = static_cast<uint8_t>(0x80 | (point & 0x3F));
      } else if (point < 0x10000) {
        if (point >= 0xD800 && point < 0xE000) return kSurrogate;
        *q++ = static_cast<uint8_t>(0xE0 | point >> 12);
        *q++ = static_cast<uint8_t>(0x80 | (point >> 6 & 0x3F));
        *q++ = static_cast<uint8_t>(0x80 | (point & 0x3F));
      } else {
        *q++ = static_cast<uint8_t>(0xF0 | point >> 18);
        *q++ = static_cast<uint8_t>(0x80 | (point >> 12 & 0x3F));
        *q++ = static_cast<uint8_t>(0x80 | (point >> 6 & 0x3F));
        *q++ = static_cast<uint8_t>(0x80 | (point & 0x3F));
      }
    }
  }
  return static_cast<size_t>(q - out);
}

// Before U+0020 or a newline behind an ASCII letter or digit: no pattern of scan.h has a piece across, or looks across.
template <class Unit>
bool may_cut(const Unit* text, size_t at) {
  const uint32_t before = text[at - 1], next = text[at];
  const bool is_word = ((before | 0x20) >= 'a' && (before | 0x20) <= 'z') || (before >= '0' && before <= '9');
  return is_word && (next == ' ' || next == '\n');
}

template <class Unit>
size_t next_cut_of(const Unit* text, size_t size, size_t at) {
  for (size_t i = at ? at : 1; i < size; ++i) {
    if (may_cut(text, i)) return i;
  }
  return size;
}

template <class Unit>
size_t last_cut_of(const Unit* text, size_t size, size_t at) {
  for (size_t i = at < size ? at : size - 1; i > 0; --i) {
    if (may_cut(text, i)) return i;
  }
  return 0;
}

// Calls `work` with the units of a text as what they are.
template <class Work>
auto with_units(const Text& text, const Work& work) {
  switch (text.unit) {
    case 1: return work(static_cast<const uint8_t*>(text.data));
    case 2: return work(static_cast<const uint16_t*>(text.data));
    default: return work(static_cast<const uint32_t*>(text.data));
  }
}

}  // namespace

size_t to_utf8(const Text& text, uint8_t* out) {
  return with_units(text, [&](const auto* p) { return convert(p, text.size, out); });
}
size_t next_cut(const Text& text, size_t at) {
  return with_units(text, [&](const auto* p) { return next_cut_of(p, text.size, at); });
}
size_t last_cut(const Text& text, size_t at) {
  if (text.size == 0) return 0;
  return with_units(text, [&](const auto* p) { return last_cut_of(p, text.size, at); });
}

}  // namespace tokcli
