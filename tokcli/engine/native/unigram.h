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

  // Fills scratch.steps by sums (float or double) that begin at `start`; returns the sum at the end. Floats are counted
  // from zero again when they become large. `sure_up_to`, where wanted: how large the sum before the word may be for its
  // best way to be the one that is found from zero, since rounding then cannot bring another one before it. Below zero: it
  // never is sure.
  template <class Sum>
  Sum search(Bytes word, Sum start, WordScratch& scratch, double* sure_up_to) const;
  // The tokens on the best way, from left to right, into scratch.ids.
  void tokens(Bytes word, WordScratch& scratch) const;
  // Sums up to here are not counted from zero again, and are added up as always.
  template <class Sum>
  static constexpr Sum most = 1e15;
  double score(uint32_t token) const { return token == kUnknownToken ? unknown_score_ : scores_[token]; }

 private:
  template <class Sum, bool kMeasures>
  Sum search_all(Bytes word, Sum start, WordScratch& scratch) const;

  const Trie& tokens_;
  Table<double> scores_;
  double unknown_score_ = 0, largest_ = 0;
};

template <>
inline constexpr float Unigram::most<float> = 99999.0f;

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
