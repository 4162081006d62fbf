// See text_ids.h.
#include "text_ids.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tokcli {
namespace {

// UTF-8 as an automaton whose whole row for a byte is one word, six bits for each state, so that a step is a load and
// a shift ("shift-based DFA", Per Vognsen 2021). The states as Unicode's table 3-7 has them; a number times six.
enum Utf8 : uint64_t { kWhole, kBad = 6, kOne = 12, kTwo = 18, kThree = 24, kE0 = 30, kEd = 36, kF0 = 42, kF4 = 48 };

constexpr uint64_t utf8_next(Utf8 state, unsigned byte) {
  const auto in = [byte](unsigned first, unsigned last) { return byte >= first && byte <= last; };
  switch (state) {
    case kWhole:
      if (byte < 0x80) return kWhole;
      if (in(0xC2, 0xDF)) return kOne;
      if (byte == 0xE0) return kE0;
      if (byte == 0xED) return kEd;
      if (in(0xE1, 0xEF)) return kTwo;
      if (byte == 0xF0) return kF0;
      if (in(0xF1, 0xF3)) return kThree;
      return byte == 0xF4 ? kF4 : kBad;
    case kOne: return in(0x80, 0xBF) ? kWhole : kBad;
    case kTwo: return in(0x80, 0xBF) ? kOne : kBad;
    case kThree: return in(0x80, 0xBF) ? kTwo : kBad;
    case kE0: return in(0xA0, 0xBF) ? kOne : kBad;
    case kEd: return in(0x80, 0x9F) ? kOne : kBad;
    case kF0: return in(0x90, 0xBF) ? kTwo : kBad;
    case kF4: return in(0x80, 0x8F) ? kTwo : kBad;
    case kBad: break;
  }
  return kBad;
}

constexpr auto kUtf8 = [] {
  std::array<uint64_t, 256> rows{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (uint64_t state = kWhole; state <= kF4; state += 6)
      rows[byte] |= utf8_next(static_cast<Utf8>(state), byte) << state;
  }
  return rows;
}();

constexpr size_t kAscii = 32;  // bytes looked at at once

bool is_ascii(const uint8_t* p) {
  std::array<uint64_t, kAscii / 8> words;
  std::memcpy(words.data(), p, kAscii);
  uint64_t all = 0;
  for (const uint64_t word : words) all |= word;
  return (all & 0x8080808080808080u) == 0;
}

constexpr auto kPairs = [] {  // "00" to "99"
  std::array<char, 200> digits{};
  for (size_t i = 0; i < 100; ++i) {
    digits[2 * i] = static_cast<char>('0' + i / 10);
    digits[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return digits;
}();

size_t digits_of(uint32_t id) {
  return 1 + (id >= 10) + (id >= 100) + (id >= 1000) + (id >= 10000) + (id >= 100000) + (id >= 1000000) +
         (id >= 10000000) + (id >= 100000000) + (id >= 1000000000);
}

char* write_number(uint32_t id, char* out) {
  char* const end = out + digits_of(id);
  char* p = end;
  for (; id >= 100; id /= 100) std::memcpy(p -= 2, &kPairs[2 * (id % 100)], 2);
  if (id >= 10) std::memcpy(p - 2, &kPairs[2 * id], 2);
  else p[-1] = static_cast<char>('0' + id);
  return end;
}

// A number below 10^8 as eight digits, the first in the lowest byte: halves are divided by 10^4, 10^2 and 10 at once,
// by multiplying with their reciprocals (Paul Khuong, "How to print integers really fast", 2017).
uint64_t eight_digits(uint32_t number) {
  const uint64_t halves = number / 10000 | static_cast<uint64_t>(number % 10000) << 32;
  const uint64_t hundreds = (halves * 10486 >> 20) & 0x7F0000007F;
  const uint64_t pairs = hundreds | (halves - hundreds * 100) << 16;
  const uint64_t tens = (pairs * 103 >> 10) & 0x000F000F000F000F;
  return tens | (pairs - tens * 10) << 8;
}

}  // namespace

size_t valid_utf8(Bytes text) {
  uint64_t state = kWhole;
  size_t at = 0;
  for (; text.size() - at >= kAscii; at += kAscii) {
    if (state == kWhole && is_ascii(&text[at])) continue;
    uint64_t next = state;
    for (size_t i = 0; i < kAscii; ++i) next = kUtf8[text[at + i]] >> (next & 63);
    next &= 63;
    if (next == kBad) break;
    state = next;
  }
  size_t whole = at;  // there a character ends; one that is cut in two there began at most three bytes before
  if (state != kWhole) {
    while ((text[whole - 1] & 0xC0) == 0x80) --whole;
    --whole;
  }
  for (; at < text.size() && state != kBad; ++at) {
    state = kUtf8[text[at]] >> state & 63;
    if (state == kWhole) whole = at + 1;
  }
  return whole;
}

size_t decimal_size(const uint32_t* ids, size_t count, size_t between) {
  size_t size = count ? (count - 1) * between : 0;
  for (size_t i = 0; i < count; ++i) size += digits_of(ids[i]);
  return size;
}

char* write_decimal(const uint32_t* ids, size_t count, std::string_view between, char* out) {
  size_t i = 0;
  if constexpr (std::endian::native == std::endian::little) {
    // no branch depends on an id: eight bytes are always written, for which the ids to come leave room
    std::array<char, 8> padded{};
    if (between.size() <= padded.size()) std::copy(between.begin(), between.end(), padded.begin());
    for (; count - i > 16 && !between.empty() && between.size() <= padded.size(); ++i) {
      if (ids[i] >= 100000000) {
        out = write_number(ids[i], out);
      } else {
        const uint64_t digits = eight_digits(ids[i]);
        const unsigned zeros = static_cast<unsigned>(std::countr_zero(digits | 1ull << 56)) / 8;
        const uint64_t text = (digits | 0x3030303030303030u) >> 8 * zeros;
        std::memcpy(out, &text, 8);
        out += 8 - zeros;
      }
      std::memcpy(out, padded.data(), padded.size());
      out += between.size();
    }
  }
  for (; i < count; ++i) {
    out = write_number(ids[i], out);
    if (i + 1 < count) out = std::copy(between.begin(), between.end(), out);
  }
  return out;
}

bool parse_decimal(Bytes text, IdBuffer* ids) {
  uint32_t* const first = ids->reserve(text.size() / 2 + 1);
  uint32_t* out = first;
  const uint8_t *p = text.data(), *const end = p + text.size();
  while (p < end) {
    if (*p == ' ' || *p == ',' || (*p >= '\t' && *p <= '\r')) {
      ++p;
      continue;
    }
    const uint8_t* const begin = p;
    uint64_t value = 0;
    for (; p < end && p - begin <= 10 && static_cast<uint8_t>(*p - '0') < 10; ++p)
      value = value * 10 + static_cast<uint8_t>(*p - '0');
    const bool ends = p == end || *p == ' ' || *p == ',' || (*p >= '\t' && *p <= '\r');
    if (p == begin || p - begin > 10 || !ends || value > UINT32_MAX) return false;
    *out++ = static_cast<uint32_t>(value);
  }
  ids->commit(static_cast<size_t>(out - first));
  return true;
}

uint32_t IdView::operator[](size_t i) const {
  if (width == sizeof(uint16_t)) {
    uint16_t id;
    std::memcpy(&id, data + i * sizeof id, sizeof id);
    return id;
  }
  uint32_t id;
  std::memcpy(&id, data + i * sizeof id, sizeof id);
  return id;
}

bool Decoder::token(uint32_t id, std::string_view* out) const {
  if (vocabulary_.token(id, out)) return true;
  const auto found = special_.find(id);
  if (found == special_.end()) return false;
  *out = found->second;
  return true;
}

bool Decoder::size_of(const IdView& ids, size_t* size) const {
  *size = 0;
  std::string_view bytes;
  for (size_t i = 0; i < ids.count; ++i) {
    if (!token(ids[i], &bytes)) return false;
    *size += bytes.size();
  }
  return true;
}

// Tokens are short: sixteen bytes are copied where so many can be read and written, which takes no loop.
void Decoder::write(const IdView& ids, char* out, size_t size) const {
  char* const out_end = out + size;
  std::string_view bytes;
  for (size_t i = 0; i < ids.count; ++i) {
    const bool is_ordinary = vocabulary_.token(ids[i], &bytes);
    if (!is_ordinary && !token(ids[i], &bytes)) return;
    if (is_ordinary && bytes.size() <= 16 && out_end - out >= 16 && vocabulary_.may_read(bytes.data(), 16)) {
      std::memcpy(out, bytes.data(), 16);
    } else if (bytes.size() <= static_cast<size_t>(out_end - out)) {
      std::memcpy(out, bytes.data(), bytes.size());
    } else {
      return;
    }
    out += bytes.size();
  }
}

std::vector<uint64_t> record_ends(Bytes data, uint8_t separator) {
  std::vector<uint64_t> ends;
  const uint8_t *p = data.data(), *const end = p + data.size();
  while (p < end) {
    const auto* found = static_cast<const uint8_t*>(std::memchr(p, separator, static_cast<size_t>(end - p)));
    if (found == nullptr) break;
    p = found + 1;
    ends.push_back(static_cast<uint64_t>(p - data.data()));
  }
  return ends;
}

}  // namespace tokcli
