// Where a piece ends: a scanner for each family of patterns, written by hand from the pattern that is quoted above it.
//
// Scanners read UTF-8 as it is. They neither recurse nor backtrack (o200k's one step back is remembered on the way), so
// their time is linear in the text. They need r50k.h, o200k.h and sequences.h; pieces.h finds many pieces at a time.
#pragma once

#include "pretokenizers/families.h"
#include "pretokenizers/o200k.h"
#include "pretokenizers/r50k.h"
#include "pretokenizers/sequences.h"

namespace tokcli {

// Returns the end of the piece that begins at p < end.
template <Family family>
inline const uint8_t* piece_end(const uint8_t* p, const uint8_t* end) {
  if constexpr (family == Family::kR50k) return r50k_end<false>(p, end);
  if constexpr (family == Family::kCl100k) return cl100k_end<true, false>(p, end);
  if constexpr (family == Family::kLlama3) return cl100k_end<false, false>(p, end);
  if constexpr (family == Family::kQwen2) return cl100k_end<false, true>(p, end);
  if constexpr (family == Family::kO200k) return o200k_end<true, false>(p, end);
  if constexpr (family == Family::kTekken) return o200k_end<false, true>(p, end);
  if constexpr (family == Family::kQwen35) return cl100k_end<false, true, kL | kM>(p, end);
  if constexpr (family == Family::kStarCoder) return r50k_end<true>(p, end);
  if constexpr (family == Family::kDeepSeek) return deepseek_end(p, end);
  if constexpr (family == Family::kFalcon) return falcon_end<true>(p, end);
  if constexpr (family == Family::kDefault) return falcon_end<false>(p, end);
  if constexpr (family == Family::kGpt4o) return o200k_end<true, false, Case::kAscii>(p, end);
  if constexpr (family == Family::kGranite) return o200k_end<true, false, Case::kAsciiAndMarks>(p, end);
  if constexpr (family == Family::kCoder) return coder_end<true>(p, end);
  if constexpr (family == Family::kLlamaCoder) return coder_end<false>(p, end);
  if constexpr (family == Family::kBloom) return bloom_end(p, end);
  if constexpr (family == Family::kLlamaTekken) return o200k_end<false, true, Case::kAscii>(p, end);
}

}  // namespace tokcli
