// Where the pieces of a text end, many at a time: in windows of 64 bytes, and by scan.h where these do not tell.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/processor.h"
#include "pretokenizers/families.h"

namespace tokcli {

constexpr size_t kWindow = 64;  // bytes that are looked at together

// Writes the ends of the next pieces from p < end on, until there are `room` or the text is over, and returns their
// number. Up to kWindow ends more than `room` may be written. For one family all of these functions find the same
// pieces.
using FindEnds = size_t (*)(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room);

// Returns the fastest such function of a family for a processor with these instructions.
FindEnds finder(Family family, Instructions use);

}  // namespace tokcli
