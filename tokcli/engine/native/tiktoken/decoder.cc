// Copying the bytes of tokens: see decoder.h.
#include "tiktoken/decoder.h"

#include <algorithm>
#include <cstring>

#include "base/watch.h"
#include "text/utf8.h"

namespace tokcli {

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

bool Decoder::special_token(uint32_t id, std::string_view* out) const {
  const auto found = special_tokens_.find(id);
  if (found == special_tokens_.end()) return false;
  *out = found->second;
  return true;
}

constexpr size_t kAhead = 8;  // tokens between the one that is read, that whose bytes are fetched, and that whose place is

// Calls visit(bytes) for each token. Returns the first id that is no token. (Profile: a short run met most tokens for the
// first time, and waited for memory twice for each.)
template <class Visit>
std::optional<uint32_t> Decoder::each_token(const IdView& ids, const Visit& visit) const {
  std::string_view bytes;
  Pace pace;
  for (size_t i = 0; i < ids.count; ++i) {
    pace.step();
    if (ids.count - i > 2 * kAhead) vocabulary_.prefetch_tokens(ids[i + 2 * kAhead], ids[i + kAhead]);
    const uint32_t id = ids[i];
    if (!vocabulary_.token(id, &bytes) && !special_token(id, &bytes)) [[unlikely]] return id;
    visit(bytes);
  }
  return std::nullopt;
}

std::optional<uint32_t> Decoder::measure(const IdView& ids, size_t* size) const {
  *size = 0;
  return each_token(ids, [&](std::string_view bytes) { *size += bytes.size(); });
}

namespace {

bool goes_on(char byte) { return !begins_char(static_cast<uint8_t>(byte)); }

// Returns how many bytes of a token do not begin a character. Those of most tokens are looked at together.
size_t inner_bytes_of(std::string_view token, bool may_read) {
  if (token.size() > sizeof(uint64_t) || !may_read)
    return static_cast<size_t>(std::count_if(token.begin(), token.end(), goes_on));
  return inner_of_eight(token.data(), token.size());
}

}  // namespace

uint64_t* put_span(std::string_view token, bool may_read, bool in_chars, int64_t* at, uint64_t* out) {
  const bool begins_inside = in_chars && !token.empty() && goes_on(token[0]);
  *out++ = static_cast<uint64_t>(std::max<int64_t>(*at - begins_inside, 0));
  *at += static_cast<int64_t>(token.size() - (in_chars ? inner_bytes_of(token, may_read) : 0));
  *out++ = static_cast<uint64_t>(std::max<int64_t>(*at, 0));
  return out;
}

std::optional<uint32_t> Decoder::spans(const IdView& ids, int64_t at, bool in_chars, uint64_t* out) const {
  return each_token(ids, [&](std::string_view bytes) {
    out = put_span(bytes, vocabulary_.may_read(bytes.data(), sizeof(uint64_t)), in_chars, &at, out);
  });
}

void Decoder::write(const IdView& ids, char* out, size_t size) const {
  const char* const end = out + size;
  std::string_view bytes;
  Pace pace;
  for (size_t i = 0; i < ids.count; ++i) {
    pace.step();
    const bool is_ordinary = vocabulary_.token(ids[i], &bytes);
    if (!is_ordinary && !special_token(ids[i], &bytes)) return;
    out = put_token(bytes, is_ordinary && vocabulary_.may_read(bytes.data(), kShortToken), out, end);
    if (out == nullptr) return;
  }
}

}  // namespace tokcli
