// Reading UTF-8 as code points, and finding places to cut: see text.h.
#include "text/text.h"

#include <algorithm>
#include <cstring>

#include "text/utf8.h"

namespace tokcli {
namespace {

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
    // one by one for some bytes: characters outside ASCII come in groups
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

// (Blocks without a space or newline are passed over in a loop without a branch, which compilers make wide instructions of:
// a text may have no place to cut in megabytes.)
template <class Unit>
size_t next_cut_of(const Unit* text, size_t size, size_t at) {
  constexpr size_t kBlock = 64;
  for (size_t i = at ? at : 1; i < size;) {
    const size_t end = std::min(i + kBlock, size);
    Unit found = 0;
    for (size_t k = i; k < end; ++k) found |= static_cast<Unit>(text[k] == ' ') | static_cast<Unit>(text[k] == '\n');
    for (; found != 0 && i < end; ++i) {
      if (may_cut(text, i)) return i;
    }
    i = end;
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

}  // namespace

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
