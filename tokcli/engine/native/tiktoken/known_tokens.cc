// Joining the bytes of ids: see known_tokens.h.
#include "tiktoken/known_tokens.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/watch.h"

namespace tokcli {

void KnownTokens::add(uint32_t id, std::string_view bytes) {
  const size_t end = bytes_.size() - kShortToken;
  if (id >= kMostDense || bytes.size() >= kUnknown - end) {
    rare_[id] = bytes;
    return;
  }
  if (id >= places_.size()) places_.resize(std::max<size_t>(id + size_t{1}, 2 * places_.size()));
  bytes_.insert(end, bytes);
  places_[id] = {static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(end)};
}

bool KnownTokens::rare_token(uint32_t id, std::string_view* out) const {
  const auto found = rare_.find(id);
  if (found == rare_.end()) return false;
  *out = found->second;
  return true;
}

std::vector<uint32_t> KnownTokens::unknown(std::span<const uint32_t> ids) const {
  std::vector<uint32_t> found;
  std::set<uint32_t> seen;
  std::string_view bytes;
  Pace pace;
  for (const uint32_t id : ids) {
    pace.step();
    if (!token(id, &bytes) && seen.insert(id).second) found.push_back(id);
  }
  return found;
}

std::optional<size_t> KnownTokens::measure(std::span<const uint32_t> ids) const {
  size_t size = 0;
  std::string_view bytes;
  Pace pace;
  for (const uint32_t id : ids) {
    pace.step();
    if (!token(id, &bytes)) return std::nullopt;
    size += bytes.size();
  }
  return size;
}

void KnownTokens::write(std::span<const uint32_t> ids, char* out, size_t size) const {
  const char* const end = out + size;
  std::string_view bytes;
  Pace pace;
  for (const uint32_t id : ids) {
    pace.step();
    if (!token(id, &bytes)) return;
    out = put_token(bytes, may_read(bytes), out, end);
    if (out == nullptr) return;
  }
}

void KnownTokens::spans(std::span<const uint32_t> ids, int64_t at, bool in_chars, uint64_t* out) const {
  std::string_view bytes;
  Pace pace;
  for (const uint32_t id : ids) {
    pace.step();
    if (!token(id, &bytes)) return;
    out = put_span(bytes, may_read(bytes), in_chars, &at, out);
  }
}

}  // namespace tokcli
