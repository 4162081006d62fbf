// Walking through the double array: see charsmap.h.
#include "characters/charsmap.h"

#include "base/watch.h"
#include "input/valid_utf8.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

constexpr size_t kLongestRule = 1024;  // bytes, as LONGEST_RULE in charsmap.py: units may lead in circles

}  // namespace

Charsmap::Found Charsmap::longest(const uint8_t* p, const uint8_t* end, size_t* size, std::string_view* text) const {
  if (units_.empty()) return Found::kNone;
  uint32_t value = 0;
  size_t found = 0;
  size_t at = offset(units_[0]);
  size_t looked_at = 0;  // bytes
  for (const uint8_t* q = p; q < end;) {
    const uint8_t byte = *q++;
    at ^= byte;
    if (at >= units_.size()) break;
    const uint32_t unit = units_[at];
    if ((unit & 0x800000FFu) != byte) break;
    if (++looked_at > kLongestRule) return Found::kBroken;
    at ^= offset(unit);
    if (unit >> 8 & 1) {
      if (at >= units_.size()) break;
      value = units_[at] & 0x7FFFFFFF;
      found = static_cast<size_t>(q - p);
    }
  }
  if (looked_at > kUncounted) [[unlikely]] work_done(looked_at);
  if (found == 0 || value >= texts_.size()) return Found::kNone;
  *size = found;
  *text = std::string_view(texts_.data() + value);
  const bool is_whole = p + found == end || begins_char(p[found]);
  return is_whole && valid_utf8(bytes_of(*text)) == text->size() ? Found::kRule : Found::kBroken;
}

Charsmap::Found Charsmap::first(Bytes text, std::string_view* replacement) const {
  if (units_.empty()) return Found::kNone;
  size_t at = offset(units_[0]);
  for (const uint8_t byte : text) {
    at ^= byte;
    if (at >= units_.size() || (units_[at] & 0x800000FFu) != byte) return Found::kNone;
    const uint32_t unit = units_[at];
    at ^= offset(unit);
    if ((unit >> 8 & 1) == 0) continue;
    const size_t value = at < units_.size() ? units_[at] & 0x7FFFFFFF : texts_.size();
    if (value >= texts_.size()) return Found::kNone;
    *replacement = std::string_view(texts_.data() + value);
    return valid_utf8(bytes_of(*replacement)) == replacement->size() ? Found::kRule : Found::kBroken;
  }
  return Found::kNone;
}

uint64_t Charsmap::third_bytes(uint8_t first, uint8_t second) const {
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
  const bool is_inside = first >= 0xE0;  // the three bytes are of one character
  for (uint32_t third = is_inside ? 0x80 : 0; third < (is_inside ? 0xC0u : 256u); ++third) {
    if ((at ^ third) < units_.size() && (units_[at ^ third] & 0x800000FFu) == third) found |= uint64_t{1} << (third & 63);
  }
  return found;
}

bool Charsmap::spans_spaces() const {
  if (units_.empty()) return false;
  const size_t root = offset(units_[0]);
  std::vector<size_t> waiting{root};
  std::vector<bool> is_seen(units_.size());  // units may lead in circles
  while (!waiting.empty()) {
    const size_t from = waiting.back();
    waiting.pop_back();
    work_done(256);
    for (size_t byte = 0; byte < 256; ++byte) {
      const size_t at = from ^ byte;
      if (at >= units_.size() || (units_[at] & 0x800000FFu) != byte || is_seen[at]) continue;
      const size_t next = at ^ offset(units_[at]);
      if (next == root || (from != root && (byte == ' ' || (byte < 128 && may_end_in_space(at))))) return true;
      is_seen[at] = true;
      waiting.push_back(next);
    }
  }
  return false;
}

// Returns whether a rule ends at a unit and makes nothing, or a text that ends with a space.
bool Charsmap::may_end_in_space(size_t at) const {
  const size_t leaf = at ^ offset(units_[at]);
  if ((units_[at] >> 8 & 1) == 0 || leaf >= units_.size()) return false;
  const size_t value = units_[leaf] & 0x7FFFFFFF;
  if (value >= texts_.size()) return false;
  const std::string_view text(texts_.data() + value);
  return text.empty() || text.back() == ' ';
}

}  // namespace tokcli
