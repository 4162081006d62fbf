// Where the pieces of a text end, many at a time: ASCII in steps of 64 bytes, everything else by the scanners of scan.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "processor.h"
#include "scan.h"

namespace tokcli {

constexpr size_t kWindow = 64;  // bytes that are looked at together

// Writes where the next pieces from p on end, until there are `room` or the text is over; how many. Up to kWindow more
// than `room` may be written. All of these functions find the same pieces.
using FindEnds = size_t (*)(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room);

FindEnds finder(Family family, Instructions use);

}  // namespace tokcli
