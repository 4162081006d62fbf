// The classes of characters that pre-tokenizing patterns tell apart, and the class of the character at a place in
// UTF-8. Classes are those of Unicode 16.0, from a generated table (unicode_tables.h), whatever Python's own tables
// are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text/unicode_tables.h"

namespace tokcli {

// kUpper is [\p{Lu}\p{Lt}], kLower \p{Ll}, kLetter [\p{Lm}\p{Lo}], kMark \p{M}, kNumber \p{N}, kSpace \s without
// [\r\n], kNewline [\r\n], kPunct \p{P}, kSymbol \p{S}, and kOther every other character. The table has these numbers.
enum Class : uint8_t { kOther, kUpper, kLower, kLetter, kMark, kNumber, kSpace, kNewline, kPunct, kSymbol };
constexpr size_t kClasses = 10;

using ClassSet = unsigned;  // the bit (1 << Class) of each class in the set
constexpr ClassSet kL = 1u << kUpper | 1u << kLower | 1u << kLetter;
constexpr ClassSet kN = 1u << kNumber;
constexpr ClassSet kWhite = 1u << kSpace | 1u << kNewline;
constexpr ClassSet kUpperOrNeither = 1u << kUpper | 1u << kLetter | 1u << kMark;  // o200k's first set
constexpr ClassSet kLowerOrNeither = 1u << kLower | 1u << kLetter | 1u << kMark;  // and its second
constexpr ClassSet kM = 1u << kMark;
constexpr ClassSet kSigns = 1u << kPunct | 1u << kSymbol;
constexpr ClassSet kPunctuation = 1u << kOther | kSigns | kM;  // [^\s\p{L}\p{N}]

struct Char {
  Class kind;
  uint8_t size;  // in bytes
};

// Returns the class and size of the character at p < end. A byte that begins no character of UTF-8 is kOther by itself;
// nothing at `end` or after it is read.
inline Char char_at(const uint8_t* p, const uint8_t* end) {
  const uint8_t lead = *p;
  if (lead < 0x80) return {static_cast<Class>(kClassOf[lead]), 1};
  const size_t left = static_cast<size_t>(end - p);
  uint32_t point = 0;
  uint8_t size = 1;
  if (lead >= 0xC2 && lead < 0xE0 && left >= 2) {
    point = (lead & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    size = 2;
  } else if (lead >= 0xE0 && lead < 0xF0 && left >= 3) {
    point = (lead & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    size = 3;
  } else if (lead >= 0xF0 && lead < 0xF5 && left >= 4) {
    point = (lead & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    size = 4;
    if (point > 0x10FFFF) return {kOther, 1};
  } else {
    return {kOther, 1};
  }
  return {static_cast<Class>(kClassOf[kClassBlock[point >> 8] * 256u + (point & 0xFF)]), size};
}

constexpr bool is_in(Class kind, ClassSet set) { return set >> kind & 1; }

}  // namespace tokcli
