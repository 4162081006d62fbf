// What the fuzz targets share: reading an input bit by bit, a merge that is slow and obvious, and how a claim fails.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/processor.h"
#include "bpe/vocabulary.h"
#include "pretokenizers/pieces.h"
#include "text/text.h"
#include "tiktoken/encoder.h"

#define CLAIM(what)                                                               \
  do {                                                                            \
    if (!(what)) {                                                                \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #what);   \
      std::abort();                                                               \
    }                                                                             \
  } while (0)

// What driver.cc has, for programs that look at no coverage.
extern "C" __attribute__((weak)) void __sanitizer_cov_trace_pc() {}

namespace fuzz {

using tokcli::Bytes;
using tokcli::Family;
using tokcli::kNone;
using Ids = std::vector<uint32_t>;

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Ranks = std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>>;

// The parts of an input; zeros when there is no more.
struct Input {
  const uint8_t* p;
  size_t left;
  uint8_t byte() { return left ? (--left, *p++) : 0; }
  uint32_t word() {
    uint32_t word = byte();
    for (int shift = 8; shift < 32; shift += 8) word |= static_cast<uint32_t>(byte()) << shift;
    return word;
  }
};

inline std::string_view chars(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
inline Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

// The pieces of a text, found with these instructions.
inline std::vector<Bytes> pieces_of(Family family, Bytes text, tokcli::Instructions use = tokcli::instructions()) {
  const tokcli::FindEnds find_ends = tokcli::finder(family, use);
  constexpr size_t kRoom = 5;  // few, so that a text takes several calls
  const uint8_t *ends[kRoom + tokcli::kWindow], *without_keys[std::size(ends)];
  tokcli::Key made[std::size(ends)];
  void* lines[std::size(ends)];
  alignas(tokcli::LineTable::kLine) static uint8_t table[4 * tokcli::LineTable::kLine];
  std::vector<Bytes> pieces;
  for (const uint8_t *p = text.data(), *end = p + text.size(); p < end;) {
    tokcli::PieceKeys keys{made, lines, tokcli::LineTable::of(table, 4)};
    const size_t count = find_ends(p, end, ends, kRoom, &keys);
    CLAIM(count >= 1 && count <= std::size(ends) && keys.count <= count);
    CLAIM(count == find_ends(p, end, without_keys, kRoom, nullptr) && std::equal(ends, ends + count, without_keys));
    for (size_t i = 0; i < count; ++i) {
      CLAIM(ends[i] > p && ends[i] <= end);
      if (i < keys.count) {
        const tokcli::Key key = tokcli::key_of(p, static_cast<size_t>(ends[i] - p), 1);
        CLAIM(made[i] == key && lines[i] == keys.table.line_of(key));
      }
      pieces.emplace_back(p, ends[i]);
      p = ends[i];
    }
  }
  return pieces;
}

inline uint32_t rank_of(const Ranks& ranks, std::string_view token) {
  const auto found = ranks.find(token);
  return found == ranks.end() ? kNone : found->second;
}

// The specification, from the definition: a piece that is a token is that token; otherwise join the neighbours of
// lowest rank, the leftmost of equals, until none are a token. O(n^2). kNone for a byte that is no token.
inline void merge_slowly(const Ranks& ranks, std::string_view piece, Ids& out) {
  if (const uint32_t whole = rank_of(ranks, piece); whole != kNone) return out.push_back(whole);
  std::vector<std::string_view> parts;
  for (size_t i = 0; i < piece.size(); ++i) parts.push_back(piece.substr(i, 1));
  const auto joined = [&](size_t i) { return std::string_view(parts[i].data(), parts[i].size() + parts[i + 1].size()); };
  Ids pairs;  // the rank of each part with the next
  for (size_t i = 0; i + 1 < parts.size(); ++i) pairs.push_back(rank_of(ranks, joined(i)));
  for (;;) {
    size_t best = 0;
    for (size_t i = 0; i < pairs.size(); ++i) best = pairs[i] < pairs[best] ? i : best;
    if (pairs.empty() || pairs[best] == kNone) break;
    parts[best] = joined(best);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(best));
    if (best < pairs.size()) pairs[best] = rank_of(ranks, joined(best));
    if (best > 0) pairs[best - 1] = rank_of(ranks, joined(best - 1));
  }
  for (const std::string_view part : parts) out.push_back(rank_of(ranks, part));
}

struct Encoded {
  Ids ids;
  bool missing_byte;
};

inline Encoded encode(tokcli::Encoder& encoder, Family family, Bytes text) {
  tokcli::IdBuffer ids;
  const tokcli::Result result = encoder.encode({family}, text, &ids);
  CLAIM(result.missing_byte || result.count == ids.size());
  return {{ids.data(), ids.data() + ids.size()}, result.missing_byte};
}

// Appends the code points of UTF-8 (Unicode 16, table 3-7); returns how many bytes are UTF-8.
inline size_t decode_utf8(Bytes text, std::vector<uint32_t>& points) {
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = text[i];
    const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || size > text.size() - i) return i;
    uint32_t point = size == 1 ? lead : lead & (0x7Fu >> size);
    for (size_t k = 1; k < size; ++k) {
      if (text[i + k] >> 6 != 2) return i;
      point = point << 6 | (text[i + k] & 0x3Fu);
    }
    const bool is_short = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
    if (is_short || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return i;
    points.push_back(point);
    i += size;
  }
  return text.size();
}

// Changes a byte or a word of an image, in the header or anywhere: it is set, added to, has a bit turned, or is a word of
// another place, or nearly. Returns the place, which is the end of the image where nothing was changed.
inline size_t change(std::vector<uint8_t>& image, Input& input) {
  const uint8_t how = input.byte();
  const uint32_t where = input.byte() | input.byte() << 8 | input.byte() << 16, value = input.word();
  const size_t size = size_t{1} << (how & 3);
  const size_t range = std::min<size_t>(how & 4 ? 256 : image.size(), image.size());
  const size_t at = where % range / size * size;
  if (at + size > image.size()) return image.size();
  uint64_t word = 0;
  std::memcpy(&word, &image[at], size);
  const auto copy = [&] { std::memcpy(&word, &image[value % (image.size() - 8) / size * size], 8); };
  switch (how >> 4 & 7) {
    case 0: word = how & 8 ? ~uint64_t{value} : value; break;
    case 1: word += static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(value)) << (how & 8 ? 6 : 0)); break;
    case 2: word ^= uint64_t{1} << value % 64; break;
    case 3: copy(); break;
    case 4: copy(), word += how & 8 ? 1 : -1; break;
    case 5: word += how & 8 ? 1 : -1; break;
    case 6: word = image.size() / (how & 8 ? size : 1) + (value & 3) - 1; break;
    default: word = how & 8 ? UINT64_MAX : 0;
  }
  std::memcpy(&image[at], &word, size);
  return at;
}

}  // namespace fuzz
