// Escaping: see escapes.h.
#include "views/escapes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/watch.h"
#include "input/valid_utf8.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

constexpr size_t kMost = 6;  // bytes that a byte can become: \u001f (of a hidden character at most 5 are for one byte)
constexpr size_t kSlice = 1024, kMostBytes = 4;  // bytes that are escaped together, and of a character

struct Escape {
  uint8_t size;
  char bytes[kMost];
};
using Table = std::array<Escape, 256>;

constexpr Table table_of(Escapes escapes) {
  const bool is_json = escapes == Escapes::kJson;
  Table table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    Escape& made = table[byte];
    const char c = static_cast<char>(byte);
    char letter = 0;
    if (c == '\n') letter = 'n';
    if (c == '\r') letter = 'r';
    if (c == '\t') letter = 't';
    if (c == '\\') letter = '\\';
    if (is_json && c == '"') letter = '"';
    if (is_json && c == '\f') letter = 'f';
    if (is_json && c == '\b') letter = 'b';
    if (letter) {
      made = {2, {'\\', letter}};
    } else if (byte >= 0x20 && byte != 0x7F) {
      made = {1, {c}};
    } else if (is_json) {
      made = {6, {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]}};
    } else {
      made = {4, {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]}};
    }
  }
  return table;
}
constexpr Table kLineTable = table_of(Escapes::kLine), kJsonTable = table_of(Escapes::kJson);

// Writes a backslash, a letter and a number in hexadecimal digits.
uint8_t* write_hex(char letter, uint32_t number, int digits, uint8_t* to) {
  *to++ = '\\';
  *to++ = static_cast<uint8_t>(letter);
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) *to++ = static_cast<uint8_t>(kHex[number >> shift & 15]);
  return to;
}

// Writes the escape of a hidden character outside ASCII.
uint8_t* write_hidden(uint32_t point, Escapes escapes, uint8_t* to) {
  if (point <= 0xFFFF) return write_hex('u', point, 4, to);
  if (escapes == Escapes::kLine) return write_hex('U', point, 8, to);
  to = write_hex('u', 0xD800 + ((point - 0x10000) >> 10), 4, to);
  return write_hex('u', 0xDC00 + (point & 0x3FF), 4, to);
}

// Returns whether a character outside ASCII is written itself.
bool is_shown(uint32_t point, Escapes escapes) {
  if (point < 0x80) return false;  // bytes that are not UTF-8 look like it
  const Glyph glyph = glyph_of(point);
  if (escapes == Escapes::kJson) return !glyph.is_escaped_in_json();
  return glyph.kind() == GlyphKind::kPlain || glyph.kind() == GlyphKind::kMark;
}

// Writes text that is whole characters, escaped.
uint8_t* write_escaped(Bytes text, Escapes escapes, uint8_t* to) {
  const Table& table = escapes == Escapes::kJson ? kJsonTable : kLineTable;
  for (const uint8_t *p = text.data(), *const end = p + text.size(); p < end;) {
    if (*p < 0x80) [[likely]] {
      const Escape& escape = table[*p++];
      std::memcpy(to, escape.bytes, kMost);
      to += escape.size;
      continue;
    }
    const uint32_t point = next_char(p, end);
    to = is_shown(point, escapes) ? put_char(point, to) : write_hidden(point, escapes, to);
  }
  return to;
}

// Appends bytes that are not UTF-8: \xNN or, in JSON, the lone surrogates of Python's errors="surrogateescape".
void append_bad(Bytes bad, Escapes escapes, ByteBuffer* out) {
  uint8_t *const first = out->reserve(bad.size() * kMost), *to = first;
  for (const uint8_t byte : bad) {
    to = escapes == Escapes::kJson ? write_hex('u', 0xDC00u + byte, 4, to) : write_hex('x', byte, 2, to);
  }
  out->commit(static_cast<size_t>(to - first));
}

}  // namespace

void append_escaped(Bytes text, std::span<const uint64_t> ends, bool is_invalid, Bytes between, Escapes escapes,
                    ByteBuffer* out) {
  const bool is_json = escapes == Escapes::kJson;
  uint64_t begin = 0;
  Pace pace;
  for (const uint64_t end : ends) {
    if (begin > 0) append(view_of(between), out);
    const Bytes piece = text.subspan(begin, end - begin);
    const uint64_t bad = begin + (is_invalid && piece.back() >= 0x80 ? valid_utf8(piece) : piece.size());
    if (is_json) append("\"", out);
    for (uint64_t at = begin; at < bad;) {  // in slices: few bytes of a long piece become more
      uint64_t stop = std::min(bad, at + kSlice);
      while (stop < bad && stop > at + kSlice - kMostBytes && !begins_char(text[stop])) --stop;  // whole characters
      uint8_t* const first = out->reserve((stop - at) * kMost);
      const uint8_t* const to = write_escaped(text.subspan(at, stop - at), escapes, first);
      out->commit(static_cast<size_t>(to - first));
      at = stop;
    }
    append_bad(text.subspan(bad, end - bad), escapes, out);
    if (is_json) append("\"", out);
    pace.step(end - begin);
    begin = end;
  }
}

}  // namespace tokcli
