// From ids to bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "bpe/vocabulary.h"

namespace tokcli {

// Ids of 2 or 4 bytes each in this machine's byte order, aligned or not.
struct IdView {
  const uint8_t* data;
  size_t count;
  size_t width;
  uint32_t operator[](size_t i) const;
};

// Writes the bytes of a token, and returns where they end; null where there is no room for them before `end`. Tokens are
// short: so many bytes are copied wherever they may be read (`may_read`) and written, which takes no loop, and what is too
// much is overwritten by the next token.
constexpr size_t kShortToken = 16;
inline char* put_token(std::string_view token, bool may_read, char* out, const char* end) {
  const auto room = static_cast<size_t>(end - out);
  if (may_read && token.size() <= kShortToken && room >= kShortToken) {
    std::memcpy(out, token.data(), kShortToken);
  } else if (token.size() > room) {
    return nullptr;
  } else if (!token.empty()) {
    std::memcpy(out, token.data(), token.size());
  }
  return out + token.size();
}

// Writes the span of a token (text/spans.h), and returns where it ends; `at` bytes or characters (`in_chars`) begin before
// the token, and those that begin in it are added. A character belongs to every token that has bytes of it. `may_read`:
// eight bytes of the token may be read.
uint64_t* put_span(std::string_view token, bool may_read, bool in_chars, int64_t* at, uint64_t* out);

// The tokens of a vocabulary, and special tokens, which are not in its image. An id that is both is the ordinary token.
class Decoder {
 public:
  Decoder(const Vocabulary& vocabulary, std::map<uint32_t, std::string> special_tokens)
      : vocabulary_(vocabulary), special_tokens_(std::move(special_tokens)) {}
  // Returns the first id that is no token; nothing where all are, and then *size is the number of bytes of all of them.
  std::optional<uint32_t> measure(const IdView& ids, size_t* size) const;
  // Writes the bytes of the ids, exactly as many as `measure` has found.
  void write(const IdView& ids, char* out, size_t size) const;
  // Writes two numbers for each id: the first and the past-the-end byte or character (`in_chars`) of its bytes, `at` of
  // which are before the first id (text/spans.h). Returns the first id that is no token, and then what was written is not
  // to be used.
  std::optional<uint32_t> spans(const IdView& ids, int64_t at, bool in_chars, uint64_t* out) const;

 private:
  template <class Visit>
  std::optional<uint32_t> each_token(const IdView& ids, const Visit& visit) const;
  bool special_token(uint32_t id, std::string_view* out) const;

  const Vocabulary& vocabulary_;
  std::map<uint32_t, std::string> special_tokens_;
};

}  // namespace tokcli
