// Writing code points as UTF-8, and finding places to cut: see text.h.
#include "text/text.h"

#include <algorithm>
#include <cstring>

#include "text/utf8.h"

namespace tokcli {
namespace {

// Copies eight units where all of them are ASCII; returns whether they are.
template <class Unit>
bool copy_ascii(const Unit* from, uint8_t* to) {
  Unit all = 0;
  for (size_t i = 0; i < 8; ++i) all |= from[i];
  if (all >= 0x80) return false;
  for (size_t i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(from[i]);
  return true;
}

constexpr bool is_surrogate(uint32_t point) { return point - 0xD800 < 0x800; }

// Returns the character of a pair of surrogates that begins at `i`, and moves there to the second; U+FFFD where there is none.
template <class Unit>
uint32_t character_of_pair(const Unit* p, size_t size, size_t& i) {
  constexpr uint32_t kHigh = 0xD800, kLow = 0xDC00, kHalf = 0x400;
  const uint32_t high = p[i], low = i + 1 < size ? p[i + 1] : 0;
  if (high - kHigh >= kHalf || low - kLow >= kHalf) return 0xFFFD;
  ++i;
  return 0x10000 + (high - kHigh) * kHalf + (low - kLow);
}

template <class Unit>
size_t convert(const Unit* p, size_t size, uint8_t* out, bool* has_surrogates) {
  uint8_t* q = out;
  for (size_t i = 0; i < size;) {
    if (size - i >= 8 && copy_ascii(p + i, q)) {
      i += 8;
      q += 8;
      continue;
    }
    // One by one up to the eighth: characters outside ASCII come in groups, so the next eight are tried as ASCII again.
    for (const size_t stop = size - i < 8 ? size : i + 8; i < stop; ++i) {
      const uint32_t point = p[i];
      if (point < 0x80) {
        *q++ = static_cast<uint8_t>(point);
      } else if (point < 0x800) {
        *q++ = static_cast<uint8_t>(0xC0 | point >> 6);
        *q++ = static_cast<uint8_t>(0x80 | (point & 0x3F));
      } else if (is_surrogate(point)) {
        q = put_char(character_of_pair(p, size, i), q);
        if (has_surrogates != nullptr) *has_surrogates = true;
      } else if (point < 0x10000) {
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

template <class Unit>
void write_points(Bytes utf8, Unit* out) {
  const uint8_t *p = utf8.data(), *const end = p + utf8.size();
  while (p < end) {
    if (end - p >= 8) {
      uint64_t eight;
      std::memcpy(&eight, p, 8);
      if ((eight & 0x8080808080808080u) == 0) {
        for (size_t i = 0; i < 8; ++i) out[i] = p[i];
        p += 8;
        out += 8;
        continue;
      }
    }
    // one by one for some bytes, as in convert()
    for (const uint8_t* const stop = end - p < 8 ? end : p + 8; p < stop;) *out++ = static_cast<Unit>(next_char(p, end));
  }
}

// Text may be cut between an ASCII letter or digit and a space (U+0020) or newline after it: no pattern of
// pretokenizers/scan.h has a piece that crosses such a place, nor looks across it to decide about a piece.
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

// Calls `work` with a pointer to the text's units, of their own type.
template <class Work>
auto with_units(const Text& text, const Work& work) {
  switch (text.unit) {
    case 1: return work(static_cast<const uint8_t*>(text.data));
    case 2: return work(static_cast<const uint16_t*>(text.data));
    default: return work(static_cast<const uint32_t*>(text.data));
  }
}

}  // namespace

size_t to_utf8(const Text& text, uint8_t* out, bool* has_surrogates) {
  return with_units(text, [&](const auto* p) { return convert(p, text.size, out, has_surrogates); });
}

// No branch depends on a byte, so that compilers make wide instructions of the loop.
CodePoints points_in(Bytes utf8) {
  size_t count = 0;
  uint8_t largest = 0;
  for (const uint8_t byte : utf8) {
    count += begins_char(byte);
    largest = std::max(largest, byte);
  }
  // (C2 and C3 begin the characters of Latin-1, F0 and above those that need more than 16 bits)
  return {count, largest < 0x80 ? 0x7Fu : largest < 0xC4 ? 0xFFu : largest < 0xF0 ? 0xFFFFu : 0x10FFFFu};
}

void from_utf8(Bytes utf8, uint32_t most, void* out) {
  if (utf8.empty()) return;
  if (most <= 0x7F) std::memcpy(out, utf8.data(), utf8.size());
  else if (most <= 0xFF) write_points(utf8, static_cast<uint8_t*>(out));
  else if (most <= 0xFFFF) write_points(utf8, static_cast<uint16_t*>(out));
  else write_points(utf8, static_cast<uint32_t*>(out));
}

size_t next_cut(const Text& text, size_t at) {
  return with_units(text, [&](const auto* p) { return next_cut_of(p, text.size, at); });
}
size_t last_cut(const Text& text, size_t at) {
  if (text.size == 0) return 0;
  return with_units(text, [&](const auto* p) { return last_cut_of(p, text.size, at); });
}

}  // namespace tokcli
