// Printing and parsing ids: see decimal.h.
#include "text/decimal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/watch.h"

namespace tokcli {
namespace {

// The digits of "00" to "99".
constexpr auto kTwoDigits = [] {
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

char* write_id(uint32_t id, char* out) {
  char* const end = out + digits_of(id);
  char* p = end;
  for (; id >= 100; id /= 100) std::memcpy(p -= 2, &kTwoDigits[2 * (id % 100)], 2);
  if (id >= 10) std::memcpy(p - 2, &kTwoDigits[2 * id], 2);
  else p[-1] = static_cast<char>('0' + id);
  return end;
}

// Returns the eight digits of a number below 10^8, the first one in the lowest byte, as numbers from 0 to 9. All digits
// are computed together: the number is split at 10^4, both halves at 10^2, and all quarters at 10, each time by
// multiplying with a reciprocal in several parts of one word (Paul Khuong, "How to print integers really fast", 2017).
uint64_t eight_digits(uint32_t number) {
  const uint64_t halves = number / 10000 | static_cast<uint64_t>(number % 10000) << 32;
  const uint64_t hundreds = (halves * 10486 >> 20) & 0x7F0000007F;
  const uint64_t pairs = hundreds | (halves - hundreds * 100) << 16;
  const uint64_t tens = (pairs * 103 >> 10) & 0x000F000F000F000F;
  return tens | (pairs - tens * 10) << 8;
}

constexpr uint32_t kSmall = 100000000;  // numbers below have at most eight digits

// Writes a number below kSmall, without a branch that depends on it; eight bytes are always written.
char* write_small(uint32_t number, char* out) {
  const uint64_t digits = eight_digits(number);
  const unsigned zeros = static_cast<unsigned>(std::countr_zero(digits | 1ull << 56)) / 8;
  const uint64_t text = (digits | 0x3030303030303030u) >> 8 * zeros;
  std::memcpy(out, &text, 8);
  return out + 8 - zeros;
}

}  // namespace

char* write_number(uint64_t number, char* out) {
  if (std::endian::native == std::endian::little && number < kSmall) return write_small(static_cast<uint32_t>(number), out);
  return std::to_chars(out, out + kMostDigits, number).ptr;
}

size_t decimal_size(const uint32_t* ids, size_t count, size_t between) {
  size_t size = count ? (count - 1) * between : 0;
  for (size_t i = 0; i < count; ++i) size += digits_of(ids[i]);
  return size;
}

char* write_decimal(const uint32_t* ids, size_t count, std::string_view between, char* out) {
  size_t i = 0;
  if constexpr (std::endian::native == std::endian::little) {
    // No branch depends on an id. Eight bytes are always written: the ids that follow (more than 16) have room for
    // them.
    std::array<char, 8> padded{};
    if (between.size() <= padded.size()) std::copy(between.begin(), between.end(), padded.begin());
    for (; count - i > 16 && !between.empty() && between.size() <= padded.size(); ++i) {
      if (ids[i] >= kSmall) {
        out = write_id(ids[i], out);
      } else {
        out = write_small(ids[i], out);
      }
      std::memcpy(out, padded.data(), padded.size());
      out += between.size();
    }
  }
  for (; i < count; ++i) {
    out = write_id(ids[i], out);
    if (i + 1 < count) out = std::copy(between.begin(), between.end(), out);
  }
  return out;
}

bool parse_decimal(Bytes text, IdBuffer* ids) {
  uint32_t* const first = ids->reserve(text.size() / 2 + 1);
  uint32_t* out = first;
  Pace pace;
  const uint8_t *p = text.data(), *const end = p + text.size();
  while (p < end) {
    if (*p == ' ' || *p == ',' || (*p >= '\t' && *p <= '\r')) {
      ++p;
      continue;
    }
    pace.step(4);
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

}  // namespace tokcli
