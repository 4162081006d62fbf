// SentencePiece's rules, several plain characters at a time: see space_rules.h.
#include "stages/space_rules.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "base/watch.h"
#include "text/utf8.h"

namespace tokcli {

namespace {

// The end of a text that grows. It is written to without asking for room each time: appending characters one by one
// would cost more than all else that is done with them.
struct Room {
  Room(std::string& text, size_t more) : text(text) { grow(more); }
  void ensure(size_t more) {
    if (static_cast<size_t>(last - to) < more) [[unlikely]] grow(more);
  }
  void put(std::string_view text) {
    for (const char c : text) *to++ = c;
  }
  void close() { text.resize(static_cast<size_t>(to - text.data())); }

  std::string& text;
  char *to = nullptr, *last = nullptr;

 private:
  void grow(size_t more) {
    const size_t used = to == nullptr ? text.size() : static_cast<size_t>(to - text.data());
    text.resize(used + used / 2 + more + 64);
    to = text.data() + used;
    last = text.data() + text.size();
  }
};

constexpr size_t kWritten = 8;  // bytes that are copied at once

// Returns how many of the eight bytes at `p` are printable ASCII other than the space, from the first one on.
size_t count_printable(const uint8_t* p) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  uint64_t eight;
  std::memcpy(&eight, p, kWritten);
  if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
  // (carries may set wrong bits above the lowest bit that is set, which do not matter)
  const uint64_t found = (((eight - kEach * 0x21) & ~eight) | eight | (eight + kEach)) & (kEach << 7);
  return static_cast<size_t>(std::countr_zero(found)) / 8;
}

}  // namespace

// Returns how many of the bytes at `p`, where nine may be read, are plain: up to eight, or one character of several
// bytes.
inline size_t SpaceRules::plain_size(const uint8_t* p) const {
  if (*p >= 0xC0) return (plain_before_[*p & 63][p[1] & 63] >> (p[2] & 63) & 1) != 0 ? utf8_size(*p) : 0;
  if (!has_plain_) {
    size_t count = 0;
    const auto is_plain = [&](uint8_t c, uint8_t next) { return c != ' ' && (c | next) < 128 && is_plain_[c][next]; };
    while (count < kWritten && is_plain(p[count], p[count + 1])) ++count;
    return count;
  }
  const size_t printable = count_printable(p);
  // a character outside ASCII may be joined to the last one
  return printable > 0 && p[printable] >= 128 ? printable - 1 : printable;
}

void SpaceRules::prepare() {
  for (uint32_t first = 0; first < 128; ++first) {
    const bool is_kept = has_kept && kept.step(Trie::kRoot, static_cast<uint8_t>(first)) != kNone;
    for (uint32_t second = 0; second < 128; ++second) {
      is_plain_[first][second] =
          !is_kept && !charsmap.has_rule_for(static_cast<uint8_t>(first), static_cast<uint8_t>(second));
    }
  }
  has_plain_ = true;
  for (size_t first = ' '; first < 127; ++first)
    has_plain_ &= std::all_of(is_plain_[first].begin(), is_plain_[first].end(), std::identity());
  for (uint32_t first = 0xC0; first < 256; ++first) {
    const bool is_kept = has_kept && kept.step(Trie::kRoot, static_cast<uint8_t>(first)) != kNone;
    for (uint32_t second = 0x80; second < 0xC0; ++second)
      plain_before_[first & 63][second & 63] =
          is_kept ? 0 : ~charsmap.third_bytes(static_cast<uint8_t>(first), static_cast<uint8_t>(second));
  }
}

// Returns the size of the kept symbol that a text begins with; 0 where there is none.
size_t SpaceRules::kept_size(const uint8_t* p, const uint8_t* end) const {
  uint32_t value;
  if (!has_kept) return 0;
  if (!is_llama) return kept.longest(p, end, &value);
  uint32_t node = Trie::kRoot;
  const uint8_t* at = p;
  while (at < end && (node = kept.step(node, *at)) != kNone) ++at;
  if (static_cast<size_t>(at - p) > kUncounted) [[unlikely]] work_done(static_cast<size_t>(at - p));
  while (at > p && at < end && !begins_char(*at)) --at;  // whole characters only
  return static_cast<size_t>(at - p);
}

// Finds what the beginning of a text becomes, and moves `p` after it. Returns false where only Python can say it.
bool SpaceRules::next_segment(const uint8_t*& p, const uint8_t* end, std::string_view& segment) const {
  if (*p < 128 && end - p > 1 && p[1] < 128 && is_plain_[*p][p[1]]) [[likely]] {
    segment = view_of({p++, 1});
    return true;
  }
  size_t size = kept_size(p, end);
  auto found = Charsmap::Found::kNone;
  if (size == 0) found = charsmap.longest(p, end, &size, &segment);
  if (found == Charsmap::Found::kBroken) return false;
  if (found == Charsmap::Found::kNone) {
    if (size == 0) size = std::min(utf8_size(*p), static_cast<size_t>(end - p));
    segment = view_of({p, size});
  }
  p += size;
  return true;
}

SpaceRules::Outcome SpaceRules::as_llama(Bytes in, Ends ends, GrowthLimit limit, std::string& out) const {
  const uint8_t *p = in.data(), *end = p + in.size();
  bool in_word = !ends.begin, has_prefix = !ends.begin;  // a part is cut off after a word
  Pace pace;
  while (p < end) {
    pace.step();
    std::string_view segment;
    if (limit.is_above(bytes_of(out))) return Outcome::kTooMuch;
    if (!next_segment(p, end, segment)) return Outcome::kOnlyPython;
    for (const char c : segment) {
      if (c == ' ') {
        in_word = false;
        if (!trim) out += space;
        continue;
      }
      if (!in_word && ((add_prefix && !has_prefix) || trim)) {
        out += space;
        has_prefix = true;
      }
      in_word = true;
      out += c;
    }
  }
  return Outcome::kDone;
}

SpaceRules::Outcome SpaceRules::as_sentencepiece(Bytes in, Ends ends, GrowthLimit limit, std::string& out, Tracking* kept) const {
  const uint8_t *p = in.data(), *end = p + in.size();
  const size_t wide = std::max(space.size(), kWritten);
  Room room(out, in.size() + in.size() / 2);
  const auto written = [&] { return static_cast<size_t>(room.to - out.data()); };
  const auto place_of = [&](const uint8_t* at) { return static_cast<size_t>(at - in.data()); };
  const auto put_space = [&](const uint8_t* at) {
    if (kept != nullptr) kept->replaced(place_of(at), space, written());
    room.put(space);
  };
  bool has_begun = !ends.begin, is_after_space = false;
  Pace pace;
  while (p < end) {
    pace.step();
    room.ensure(2 * wide);
    if (has_begun && end - p > static_cast<ptrdiff_t>(kWritten)) {
      const size_t plain = plain_size(p);
      if (plain > 0) {
        if (kept != nullptr) kept->copied(place_of(p), plain, written());
        std::memcpy(room.to, p, kWritten);
        room.to += plain;
        p += plain;
        is_after_space = false;
        if (plain == kWritten) continue;
      }
      if (*p == ' ' && p[1] < 128 && is_plain_[' '][p[1]]) {
        if (!is_after_space) put_space(p);
        is_after_space = trim;
        ++p;
        continue;
      }
      if (plain > 0) continue;
    }
    std::string_view segment;
    const uint8_t* const at = p;
    if (!next_segment(p, end, segment)) return Outcome::kOnlyPython;
    if (limit.is_above(Bytes{bytes_of(out).data(), written()})) return Outcome::kTooMuch;
    if (!has_begun) {
      if (trim && segment == " ") continue;
      has_begun = true;
      is_after_space = trim;
      if (add_prefix && !as_suffix) put_space(at);
    }
    if (is_after_space) segment.remove_prefix(std::min(segment.find_first_not_of(' '), segment.size()));
    if (segment.empty()) continue;
    room.ensure((segment.size() + 1) * wide);
    const size_t before = written();
    for (const char c : segment) {
      if (c == ' ') room.put(space);
      else *room.to++ = c;
    }
    if (kept != nullptr) kept->replaced(place_of(at), std::string_view(out).substr(before, written() - before), before);
    is_after_space = trim && segment.back() == ' ';
  }
  const size_t all = written();
  room.close();
  if (!has_begun) return Outcome::kDone;
  if (trim && ends.end) {
    while (out.size() >= space.size() && out.ends_with(space)) out.resize(out.size() - space.size());
  }
  if (kept != nullptr && out.size() < all) kept->end_before(out.size());
  else if (kept != nullptr) kept->end(in.size(), all);
  if (add_prefix && as_suffix) {
    if (kept != nullptr) kept->end_again(out.size(), out.size() + space.size());
    out += space;
  }
  return Outcome::kDone;
}

}  // namespace tokcli
