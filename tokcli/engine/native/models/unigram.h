// Unigram: of all ways to cut a text into tokens (a path), the one whose scores add up to the most. Its twins in Python
// are engine/pipeline/models.py, engine/sentencepiece/model.py and engine/llama_cpp/ugm.py.
#pragma once

#include "models/word_models.h"

namespace tokcli {

constexpr uint32_t kUnknownToken = kNone - 1;  // stands for a character that is no token

// The scores of tokens, and the best path through a word.
class Unigram {
 public:
  // The tokens have a trie.
  explicit Unigram(const Tokens& tokens) : tokens_(tokens) {}
  // `scores` are in the order of the tokens. `Sum`: what words are searched with.
  template <class Sum>
  void build(std::vector<double> scores, double unknown_score);
  template <class Archive>
  void fields(Archive& archive) {
    archive.table(scores_);
    archive.plain(unknown_score_);
    archive.plain(largest_);
    archive.table(whole_);
    archive.flag(only_falls_);
  }
  bool fits() const {
    const size_t count = scores_.size();
    return tokens_.strings.size() == count && whole_.size() == count && tokens_.trie.fits(count);
  }

  // Fills scratch.steps with the best path by sums (float or double) that begin with `start`, and returns the sum at
  // the end. Floats begin at 0 again when they become large. `sure_up_to` (null where it is not wanted) becomes the
  // largest sum before the word for which the best path is sure to be this one: with a larger one, rounding may put
  // another first. A value below 0 means that it never is sure.
  template <class Sum>
  Sum search(Bytes word, Sum start, WordScratch& scratch, float* sure_up_to) const;
  // Returns the token that is a word, where it is its best path for sums up to `sum` before it; kNone: search for the path.
  uint32_t whole(Bytes word, double sum) const {
    const uint32_t token = tokens_.trie.find(word);
    return token != kNone && sum <= double{whole_[token]} ? token : kNone;
  }
  // The largest sum before a word that is a token for which this is the best path; below 0: none.
  float whole_up_to(uint32_t token) const { return whole_[token]; }
  // Writes the tokens on the best path, from left to right, to scratch.ids.
  void tokens(Bytes word, WordScratch& scratch) const;
  // Sums up to this size never begin at 0 again.
  template <class Sum>
  static constexpr Sum most = 1e15;
  // Returns whether no score is above 0.
  bool only_falls() const { return only_falls_; }
  double score(uint32_t token) const { return token == kUnknownToken ? unknown_score_ : scores_[token]; }

 private:
  template <class Sum, bool kFindsSecond>
  Sum search_all(Bytes word, Sum start, WordScratch& scratch) const;

  const Tokens& tokens_;
  Table<double> scores_;
  Table<float> whole_;  // see whole_up_to: most words are tokens, and their paths are found once, when the model is made
  double unknown_score_ = 0, largest_ = 0;
  bool only_falls_ = false;
};

template <>
inline constexpr float Unigram::most<float> = 99999.0f;

// Hugging Face's Unigram: each word by itself. Unknown characters that follow each other are one.
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
