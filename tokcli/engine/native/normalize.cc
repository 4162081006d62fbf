#include "normalize.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "text_ids.h"

namespace tokcli {

void CharRules::set(uint32_t c, std::string_view text) {
  if (text.size() > 255 || texts_.size() > UINT32_MAX / 2) {
    set_unsafe(c);
    return;
  }
  rules_.set(c, kFirst + static_cast<uint32_t>(texts_.size()));
  texts_.push_back(static_cast<char>(text.size()));
  texts_ += text;
  if (c < 128 && text.size() == 1 && static_cast<uint8_t>(text[0]) < 128) ascii_[c] = static_cast<uint8_t>(text[0]);
}

// Each rule leads to a size and as many bytes.
bool CharRules::fits() const {
  const auto is_rule = [&](uint32_t rule) {
    const size_t at = rule - kFirst;
    return rule < kFirst || (at < texts_.size() && at + 1 + static_cast<uint8_t>(texts_[at]) <= texts_.size());
  };
  return rules_.all_of(is_rule) && std::all_of(ascii_.begin(), ascii_.end(), [](uint8_t c) { return c < 128 || c == kSpecial; });
}

void CharRules::set_run(std::string_view run, std::string_view text) {
  if (runs_.size() >= kMostRuns || run_bytes_ > kMostRunBytes) {
    runs_.clear();
    run_bytes_ = 0;
  }
  run_bytes_ += run.size() + text.size();
  runs_.insert_or_assign(std::string(run), std::string(text));
}

void CharRules::apply(Bytes in, std::string& out, Needs& needs) const {
  const uint8_t *p = in.data(), *end = p + in.size();
  const uint8_t* before = nullptr;  // the safe character before `p`, and where in `out` it begins
  size_t before_out = 0;
  while (p < end) {
    const uint8_t* run = p;
    while (run < end && *run < 128 && ascii_[*run] != kSpecial) ++run;
    if (run > p) {
      const size_t at = out.size();
      out.resize(at + static_cast<size_t>(run - p));
      char* to = &out[at];
      while (p < run) *to++ = static_cast<char>(ascii_[*p++]);
      before = run - 1;
      before_out = out.size() - 1;
      continue;
    }
    const uint8_t* begin = p;
    const uint32_t found = rule(next_char(p, end), needs);
    if (found != kUnsafe) {
      before = begin;
      before_out = out.size();
      if (found == kUnasked) continue;
      const char* text = &texts_[found - kFirst];
      out.append(text + 1, static_cast<uint8_t>(*text));
      continue;
    }
    if (before != nullptr) {
      begin = before;
      out.resize(before_out);
    }
    for (bool is_unsafe = true; p < end;) {  // to the first two safe ones
      const uint8_t* at = p;
      const bool is_next_unsafe = rule(next_char(at, end), needs) == kUnsafe;
      if (!is_unsafe && !is_next_unsafe) break;
      is_unsafe = is_next_unsafe;
      p = at;
    }
    before = nullptr;
    const std::string text(view_of({begin, static_cast<size_t>(p - begin)}));
    const auto known = runs_.find(text);
    if (known != runs_.end()) out += known->second;
    else needs.runs.insert(text);
  }
}

Charsmap::Found Charsmap::longest(const uint8_t* p, const uint8_t* end, size_t* size, std::string_view* text) const {
  if (units_.empty()) return Found::kNone;
  uint32_t value = 0;
  size_t found = 0;
  size_t at = offset(units_[0]);
  for (const uint8_t* q = p; q < end;) {
    const uint8_t byte = *q++;
    at ^= byte;
    if (at >= units_.size()) break;
    const uint32_t unit = units_[at];
    if ((unit & 0x800000FFu) != byte) break;
    at ^= offset(unit);
    if (unit >> 8 & 1) {
      if (at >= units_.size()) break;
      value = units_[at] & 0x7FFFFFFF;
      found = static_cast<size_t>(q - p);
    }
  }
  if (found == 0 || value >= texts_.size()) return Found::kNone;
  *size = found;
  *text = std::string_view(texts_.data() + value);
  const bool is_whole = p + found == end || (p[found] & 0xC0) != 0x80;
  return is_whole && valid_utf8(bytes_of(*text)) == text->size() ? Found::kRule : Found::kOdd;
}

uint64_t Charsmap::going_on(uint8_t first, uint8_t second) const {
  constexpr uint64_t kAll = ~uint64_t{0};
  if (units_.empty()) return 0;
  const uint8_t both[2] = {first, second};
  size_t at = offset(units_[0]);
  for (const uint8_t byte : both) {
    at ^= byte;
    if (at >= units_.size() || (units_[at] & 0x800000FFu) != byte) return 0;
    if (units_[at] >> 8 & 1) return kAll;  // a rule ends here
    at ^= offset(units_[at]);
  }
  uint64_t found = 0;
  const bool is_inside = first >= 0xE0;  // the third byte belongs to the same character
  for (uint32_t third = is_inside ? 0x80 : 0; third < (is_inside ? 0xC0u : 256u); ++third) {
    if ((at ^ third) < units_.size() && (units_[at ^ third] & 0x800000FFu) == third) found |= uint64_t{1} << (third & 63);
  }
  return found;
}

namespace {

// The end of a text that grows, which is written to without asking each time whether there is room: characters that are
// appended one by one cost more than all else that is done with them.
struct Room {
  Room(std::string& text, size_t more) : text(text) { grow(more); }
  void ensure(size_t more) {
    if (static_cast<size_t>(last - to) < more) [[unlikely]] grow(more);
  }
  void put(std::string_view part) {
    for (const char c : part) *to++ = c;
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

// How many of the eight bytes at `p` are characters of ASCII that are seen, from the first on.
size_t count_seen(const uint8_t* p) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  uint64_t eight;
  std::memcpy(&eight, p, kWritten);
  if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
  // what is wrong above the first byte that is found does not matter
  const uint64_t found = (((eight - kEach * 0x21) & ~eight) | eight | (eight + kEach)) & (kEach << 7);
  return static_cast<size_t>(std::countr_zero(found)) / 8;
}

}  // namespace

// How many of the nine bytes at `p` are plain, up to eight.
inline size_t SpaceRules::plain_size(const uint8_t* p) const {
  if (*p >= 0xC0) return (plain_before_[*p & 63][p[1] & 63] >> (p[2] & 63) & 1) != 0 ? utf8_size(*p) : 0;
  if (!has_plain_) {
    size_t count = 0;
    while (count < kWritten && p[count] != ' ' && (p[count] | p[count + 1]) < 128 && is_plain_[p[count]][p[count + 1]]) ++count;
    return count;
  }
  const size_t seen = count_seen(p);
  return seen > 0 && p[seen] >= 128 ? seen - 1 : seen;  // a mark may join the last one
}

void SpaceRules::prepare() {
  for (uint32_t first = 0; first < 128; ++first) {
    const bool is_kept = has_kept && kept.step(Trie::kRoot, static_cast<uint8_t>(first)) != kNothing;
    for (uint32_t second = 0; second < 128; ++second) {
      is_plain_[first][second] =
          !is_kept && !charsmap.concerns(static_cast<uint8_t>(first), static_cast<uint8_t>(second));
    }
  }
  has_plain_ = true;
  for (size_t first = ' '; first < 127; ++first)
    has_plain_ &= std::all_of(is_plain_[first].begin(), is_plain_[first].end(), std::identity());
  for (uint32_t first = 0xC0; first < 256; ++first) {
    const bool is_kept = has_kept && kept.step(Trie::kRoot, static_cast<uint8_t>(first)) != kNothing;
    for (uint32_t second = 0x80; second < 0xC0; ++second)
      plain_before_[first & 63][second & 63] =
          is_kept ? 0 : ~charsmap.going_on(static_cast<uint8_t>(first), static_cast<uint8_t>(second));
  }
}

// How much of a text stays as it is, for it begins with a kept symbol.
size_t SpaceRules::kept_size(const uint8_t* p, const uint8_t* end) const {
  uint32_t value;
  if (!has_kept) return 0;
  if (!is_llama) return kept.longest(p, end, &value);
  uint32_t node = Trie::kRoot;
  const uint8_t* at = p;
  while (at < end && (node = kept.step(node, *at)) != kNothing) ++at;
  while (at > p && at < end && (*at & 0xC0) == 0x80) --at;  // whole characters only
  return static_cast<size_t>(at - p);
}

// What the beginning of a text becomes; false: only Python can say.
bool SpaceRules::next_part(const uint8_t*& p, const uint8_t* end, std::string_view& part) const {
  if (*p < 128 && end - p > 1 && p[1] < 128 && is_plain_[*p][p[1]]) [[likely]] {
    part = view_of({p++, 1});
    return true;
  }
  size_t size = kept_size(p, end);
  auto found = Charsmap::Found::kNone;
  if (size == 0) found = charsmap.longest(p, end, &size, &part);
  if (found == Charsmap::Found::kOdd) return false;
  if (found == Charsmap::Found::kNone) {
    if (size == 0) size = std::min(utf8_size(*p), static_cast<size_t>(end - p));
    part = view_of({p, size});
  }
  p += size;
  return true;
}

bool SpaceRules::as_llama(Bytes in, std::string& out) const {
  const uint8_t *p = in.data(), *end = p + in.size();
  bool in_word = false, has_prefix = false;
  while (p < end) {
    std::string_view part;
    if (!next_part(p, end, part)) return false;
    for (const char c : part) {
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
  return true;
}

bool SpaceRules::as_sentencepiece(Bytes in, std::string& out) const {
  const uint8_t *p = in.data(), *end = p + in.size();
  const size_t from = out.size(), wide = std::max(space.size(), kWritten);
  Room room(out, in.size() + in.size() / 2);
  bool has_begun = false, is_after_space = false;
  while (p < end) {
    room.ensure(2 * wide);
    if (has_begun && end - p > static_cast<ptrdiff_t>(kWritten)) {
      const size_t plain = plain_size(p);
      if (plain > 0) {
        std::memcpy(room.to, p, kWritten);
        room.to += plain;
        p += plain;
        is_after_space = false;
        if (plain == kWritten) continue;
      }
      if (*p == ' ' && p[1] < 128 && is_plain_[' '][p[1]]) {
        if (!is_after_space) room.put(space);
        is_after_space = trim;
        ++p;
        continue;
      }
      if (plain > 0) continue;
    }
    std::string_view part;
    if (!next_part(p, end, part)) return false;
    if (!has_begun) {
      if (trim && part == " ") continue;
      has_begun = true;
      is_after_space = trim;
      if (add_prefix && !as_suffix) room.put(space);
    }
    if (is_after_space) part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (part.empty()) continue;
    room.ensure((part.size() + 1) * wide);
    for (const char c : part) {
      if (c == ' ') room.put(space);
      else *room.to++ = c;
    }
    is_after_space = trim && part.back() == ' ';
  }
  room.close();
  if (!has_begun) return true;
  if (trim) {
    while (out.size() - from >= space.size() && std::string_view(out).ends_with(space)) out.resize(out.size() - space.size());
  }
  if (add_prefix && as_suffix) out += space;
  return true;
}

void replace_all(Bytes in, std::string_view from, std::string_view to, std::string& out) {
  const std::string_view text = view_of(in);
  size_t at = 0;
  if (from.size() == 1) {  // most often the space
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != from[0]) continue;
      out.append(text, at, i - at);
      out += to;
      at = i + 1;
    }
  } else {
    for (size_t found; (found = text.find(from, at)) != std::string_view::npos; at = found + from.size()) {
      out.append(text, at, found - at);
      out += to;
    }
  }
  out.append(text, at);
}

void squeeze_spaces(Bytes in, std::string_view to, std::string& out) {
  const std::string_view text = view_of(in);
  size_t at = 0;
  for (size_t found; (found = text.find("  ", at)) != std::string_view::npos;) {
    out.append(text, at, found - at);
    out += to;
    at = std::min(text.find_first_not_of(' ', found), text.size());
  }
  out.append(text, at);
}

Bytes stripped(Bytes text, bool left, bool right) {
  const uint8_t *begin = text.data(), *end = begin + text.size();
  while (left && begin < end) {
    const uint8_t* p = begin;
    if (!is_space(next_char(p, end))) break;
    begin = p;
  }
  while (right && begin < end) {
    const uint8_t *last = previous_char(end, begin), *p = last;
    if (!is_space(next_char(p, end))) break;
    end = last;
  }
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace tokcli
