// The bytes of the ids of any vocabulary, each told once and kept: what joins tokens where there is no image of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tiktoken/decoder.h"

namespace tokcli {

class KnownTokens {
 public:
  // Keeps the bytes of an id. Those that it had before are no longer found, but keep their memory.
  void add(uint32_t id, std::string_view bytes);
  // Returns the ids that are not known, each once, in the order in which they come.
  std::vector<uint32_t> unknown(std::span<const uint32_t> ids) const;
  // Returns the size in bytes of all of the ids; nothing where one is not known.
  std::optional<size_t> measure(std::span<const uint32_t> ids) const;
  // Writes the bytes of ids that are all known, exactly the `size` that `measure` has found.
  void write(std::span<const uint32_t> ids, char* out, size_t size) const;
  // Writes the span of each of the ids, which are all known, as Decoder::spans does.
  void spans(std::span<const uint32_t> ids, int64_t at, bool in_chars, uint64_t* out) const;

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr uint32_t kMostDense = 1u << 22;  // ids below have a place each; the few others are looked up
  struct Place {
    uint32_t size = kUnknown;
    uint32_t start = 0;
  };
  // Finds the bytes of an id; returns false where it is not known.
  bool token(uint32_t id, std::string_view* out) const {
    if (id < places_.size() && places_[id].size != kUnknown) {
      *out = {bytes_.data() + places_[id].start, places_[id].size};
      return true;
    }
    return rare_token(id, out);
  }
  bool rare_token(uint32_t id, std::string_view* out) const;
  // Returns whether kShortToken bytes of a token may be read.
  bool may_read(std::string_view token) const {
    return token.data() >= bytes_.data() && token.data() < bytes_.data() + bytes_.size();
  }

  std::vector<Place> places_;
  std::string bytes_ = std::string(kShortToken, '\0');  // of all tokens, and so many more, for put_token to read
  std::map<uint32_t, std::string> rare_;                // with an id, or with bytes, that a Place does not hold
};

}  // namespace tokcli
