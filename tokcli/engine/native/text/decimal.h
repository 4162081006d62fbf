// Ids as decimal text, and decimal text as ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/id_buffer.h"

namespace tokcli {

// Returns the size in bytes of ids as decimal text with `between` bytes between two of them.
size_t decimal_size(const uint32_t* ids, size_t count, size_t between);
// Writes that text, exactly decimal_size bytes, and returns its end.
char* write_decimal(const uint32_t* ids, size_t count, std::string_view between, char* out);

// Writes one number and returns its end; `out` has room for kMostDigits bytes, whatever the number.
constexpr size_t kMostDigits = 20;
constexpr size_t kMostIdDigits = 10;  // of a number of 32 bits
char* write_number(uint64_t number, char* out);

// Appends the ids in decimal text; ASCII white space and commas separate them. Returns false for any other character,
// for more than ten digits together, and for a number above 2^32 - 1.
bool parse_decimal(Bytes text, IdBuffer* ids);

}  // namespace tokcli
