// What stands around encoding: ids as decimal text and back, ids to bytes by table, UTF-8 that is checked, and records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "encoder.h"

namespace tokcli {

// How many bytes of a text, from its beginning, are whole characters of UTF-8.
size_t valid_utf8(Bytes text);

// Ids as decimal text with `between` between them: its size, and the text itself, written there.
size_t decimal_size(const uint32_t* ids, size_t count, size_t between);
char* write_decimal(const uint32_t* ids, size_t count, std::string_view between, char* out);

// The ids in decimal text between ASCII white space and commas. False for anything else, for more than ten digits and
// for what is no uint32.
bool parse_decimal(Bytes text, IdBuffer* ids);

// Ids (little-endian on such a machine) of 2 or 4 bytes each, anywhere in memory.
struct IdView {
  const uint8_t* data;
  size_t count;
  size_t width;
  uint32_t operator[](size_t i) const;
};

// From ids to bytes: the vocabulary's tokens, and special tokens, which stand in none. An id that is both is ordinary.
class Decoder {
 public:
  Decoder(const Vocabulary& vocabulary, std::map<uint32_t, std::string> special)
      : vocabulary_(vocabulary), special_(std::move(special)) {}
  // The bytes that all ids have together; false where one is no token.
  bool size_of(const IdView& ids, size_t* size) const;
  // Writes exactly `size` bytes, as size_of has found.
  void write(const IdView& ids, char* out, size_t size) const;

 private:
  bool token(uint32_t id, std::string_view* out) const;

  const Vocabulary& vocabulary_;
  std::map<uint32_t, std::string> special_;
};

// Where records end that a byte ends: behind each such byte.
std::vector<uint64_t> record_ends(Bytes data, uint8_t separator);

}  // namespace tokcli
