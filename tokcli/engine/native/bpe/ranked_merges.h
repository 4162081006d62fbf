// A list of merges as ranks: the twin of engine/bpe/ranks.py, which says why it is exact.
//
// In tokenizer.json a list says which pairs of tokens merge, and in which order. A vocabulary image knows one merge for
// each token, and its order is that of ids. Both do the same where each token's live merge (the only one that can ever
// make it) comes in the list in the order of ids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bpe/vocabulary.h"

namespace tokcli {

// Returns the numbers of the merges that can happen, in order. Throws std::length_error where tokens are so long that
// finding out would take minutes.
std::vector<uint32_t> live_merges(std::span<const Token> tokens, std::span<const Vocabulary::Merge> merges);

// What ranks.py's `Ranked` is made of.
struct RankedMerges {
  std::vector<uint8_t> image;
  std::vector<uint32_t> ids;         // of the ranks: single bytes, tokens that merges make, tokens only found whole
  std::vector<uint32_t> whole_only;  // tokens that are only found whole, but that merging by ranks would make
  std::vector<Vocabulary::Merge> merges;
  std::array<bool, 256> has_byte{};
};

// Returns the ranks that do what a list of merges does, for tokens with distinct bytes; nothing where ranks cannot.
// `ignore_merges`: a piece that is a token is not merged. `drops_missing`: see image_builder.h. Throws
// std::length_error as live_merges does, and std::invalid_argument where there is no image of these tokens.
std::optional<RankedMerges> rank_merges(std::span<const Token> tokens, std::span<const Vocabulary::Merge> merges,
                                        bool ignore_merges, bool drops_missing = false);

}  // namespace tokcli
