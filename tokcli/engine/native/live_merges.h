// Which merges of a list can happen: the twin of ranked.py's live_merges, which says why.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vocabulary.h"

namespace tokcli {

// The numbers of the merges (left, right, made) that can happen, in order; length_error where tokens are so long that
// finding out would take minutes.
std::vector<uint32_t> live_merges(std::span<const Token> tokens, std::span<const Vocabulary::Merge> merges);

}  // namespace tokcli
