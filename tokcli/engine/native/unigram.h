// Unigram: the way through a text whose scores add up to the most. See unigram.py, sentencepiece.py, llama_models.py.
#pragma once

#include "word_models.h"

namespace tokcli {

constexpr uint32_t kUnknownToken = kNothing - 1;

// Scores of tokens, and the best way through a word.
class Unigram {
 public:
  explicit Unigram(const Trie& tokens) : tokens_(tokens) {}
  // `scores` by the values in the trie.
  void build(std::vector<double> scores, double unknown_score);
  template <class Archive>
  void parts(Archive& archive) {
    archive.table(scores_);
    archive.plain(unknown_score_);
    archive.plain(largest_);
  }
  bool fits() const { return tokens_.fits(scores_.size()); }

  // Fills scratch.steps by sums of 64 bits that begin at `start`; returns the sum at the end.
  double search(Bytes word, double start, WordScratch& scratch) const;
  // The same in floats of 32 bits, which are counted from zero again when they become large.
  float search_single(Bytes word, float start, WordScratch& scratch) const;
  // The tokens on the best way, from left to right, into scratch.ids. false: an unknown character is among them.
  bool tokens(Bytes word, WordScratch& scratch) const;
  // How large the sum before a word may be for its best way to be the one that `search` found from zero: rounding then
  // cannot bring another one before it. Below zero: it never is sure.
  double sure_up_to(Bytes word, WordScratch& scratch, double unit, double most) const;
  double score(uint32_t token) const { return token == kUnknownToken ? unknown_score_ : scores_[token]; }

 private:
  const Trie& tokens_;
  Table<double> scores_;
  double unknown_score_ = 0, largest_ = 0;
};

// Hugging Face's: each word for itself; unknown characters that follow on one another are one.
class UnigramModel : public WordModel {
 public:
  UnigramModel(const Unigram& unigram, const Tokens& tokens, const Unknown& unknown)
      : unigram_(unigram), tokens_(tokens), unknown_(unknown) {}
  bool encode(Bytes word, WordScratch& scratch) const override;

 private:
  const Unigram& unigram_;
  const Tokens& tokens_;
  const Unknown& unknown_;
};

}  // namespace tokcli
