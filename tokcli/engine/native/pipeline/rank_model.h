// Ranks and patterns as the model of a text model: that of byte-level tokenizers.
#pragma once

#include <vector>

#include "tiktoken/encoder_pool.h"

namespace tokcli {

struct RankModel {
  EncoderPool* encoders = nullptr;  // of a vocabulary that outlives the model; null where another model is used
  Splitting by;
  // The characters (the first and the last of each range, in order) that `by` does not cut as the tokenizer does, and the
  // patterns that cut a text with one of them. Without these, such a text is refused.
  std::vector<uint32_t> exceptions;
  MatcherPool* exact = nullptr;
  bool puts_space = false;  // before text between added tokens that does not begin with one

  // Returns whether a text may be cut before a space between two letters or digits of ASCII.
  bool may_cut() const { return by.may_cut(); }
  // Writes to `by` what cuts a text into pieces; returns false for a text that is refused.
  bool find_splitting(Bytes text, Splitting& found) const;
};

}  // namespace tokcli
