// The models whose ids of a word do not depend on what stands around it: BPE over characters, WordPiece, whole words.
// The rules are those of the Python twins: sentencepiece.py, pair_bpe.py, llama_models.py, models.py, unigram.py.
#pragma once

#include <memory>
#include <vector>

#include "encoder.h"
#include "trie.h"

namespace tokcli {

// Where the ids of a text go. Unknown text may be one id however long it is: `join_unknown` then.
class IdSink {
 public:
  IdSink(IdBuffer* out, uint32_t joined) : out_(out), joined_(joined) {}
  void add(const uint32_t* ids, size_t count) {
    if (count == 0) return;
    uint32_t* to = out_->reserve(count);
    if (joined_ == kNothing) {
      std::memcpy(to, ids, count * sizeof(uint32_t));
      out_->commit(count);
      return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      if (ids[i] != joined_ || last_ != joined_) to[kept++] = ids[i];
      last_ = ids[i];
    }
    out_->commit(kept);
  }
  void add(uint32_t id) { add(&id, 1); }
  // What comes is not joined with what was there.
  void separate() { last_ = kNothing; }

 private:
  IdBuffer* out_;
  uint32_t joined_;  // the id that does not follow on itself; kNothing: there is none such
  uint32_t last_ = kNothing;
};

// Memory for one thread.
struct WordScratch {
  struct Symbol {
    uint32_t id, begin, end;  // in the word's bytes
    int32_t previous, next;
  };
  struct Candidate {
    uint64_t order;  // rank, and then the left symbol's number
    uint32_t made;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<uint32_t> ids;
  std::vector<double> best;  // Unigram: of the ways to each byte of a word
  std::vector<float> best_single;
  struct Ways {
    double best, second;  // from zero, whatever stands before the word
  };
  std::vector<Ways> ways;
  struct Step {
    uint32_t begin, token;  // the last token on the best way to a byte; Unigram's kUnknownToken for an unknown character
  };
  std::vector<Step> steps;
};

class WordModel {
 public:
  virtual ~WordModel() = default;
  // The ids of a word, into scratch.ids; false where only Python can say what is to be done.
  virtual bool encode(Bytes word, WordScratch& scratch) const = 0;
};

// What unknown characters become.
struct Unknown {
  uint32_t id = kNothing;
  bool to_bytes = false;
  std::array<uint32_t, 256> bytes{};  // kNothing: there is no such token
};

// Which characters stand beside each other in any token: elsewhere nothing can merge, and a word may be cut. A filter: it
// may say so of others too.
class PairFilter {
 public:
  void reserve(size_t pairs);
  void add(uint32_t left, uint32_t right) {
    has_inner_space_ |= right == kSpace && left != kSpace;
    const uint64_t hash = hash_of(left, right);
    bits_[hash >> 6] |= uint64_t{1} << (hash & 63);
    if ((left | right) < 128) ascii_[left] [right] = true;
  }
  void add_inner_pairs(std::string_view text);
  bool may_hold(uint32_t left, uint32_t right) const {
    if ((left | right) < 128) return ascii_[left][right];
    if (right == kSpace && left != kSpace && !has_inner_space_) return false;
    const uint64_t hash = hash_of(left, right);
    return bits_[hash >> 6] >> (hash & 63) & 1;
  }

 private:
  uint64_t hash_of(uint32_t left, uint32_t right) const {
    return (left * uint64_t{0x9E3779B97F4A7C15} ^ right * uint64_t{0xD6E8FEB86659FD93}) >> shift_;
  }
  static constexpr uint32_t kSpace = 0x2581;  // SentencePiece's, at which most words end

  std::vector<uint64_t> bits_ = std::vector<uint64_t>(16);
  unsigned shift_ = 54;
  bool ascii_[128][128] = {};
  bool has_inner_space_ = true;
};

// BPE in which two symbols merge where their text is a piece (SentencePiece, llama.cpp's SPM).
class PieceBpe : public WordModel {
 public:
  // `orders`: of each piece, the lower the sooner, equal ones from left to right. `kept`: pieces that are found whole before
  // anything merges, and never merge.
  PieceBpe(const Strings& pieces, std::vector<uint32_t> ids, std::vector<uint32_t> orders, const Trie* kept,
           std::vector<bool> is_kept, Unknown unknown)
      : pieces_(pieces), ids_(std::move(ids)), orders_(std::move(orders)), kept_(kept), is_kept_(std::move(is_kept)),
        unknown_(unknown) {}
  bool encode(Bytes word, WordScratch& scratch) const override;

 private:
  const Strings& pieces_;
  std::vector<uint32_t> ids_, orders_;
  const Trie* kept_;
  std::vector<bool> is_kept_;
  Unknown unknown_;
};

// BPE by pairs of tokens (tokenizer.json).
class PairBpeModel : public WordModel {
 public:
  struct Settings {
    bool fuse_unknown = false, has_unknown = false;
    std::string prefix, suffix;
  };
  struct Merge {
    uint64_t pair;
    uint32_t rank, made;
  };
  PairBpeModel(const Strings& tokens, std::vector<uint32_t> ids, const std::vector<Merge>& merges, Unknown unknown,
               Settings settings);
  bool encode(Bytes word, WordScratch& scratch) const override;

 private:
  const Merge* find(uint32_t left, uint32_t right) const {
    const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
    for (size_t slot = pair * 0x9E3779B97F4A7C15u >> shift_;; slot = (slot + 1) & mask_) {
      if (slots_[slot].pair == pair) return &slots_[slot];
      if (slots_[slot].pair == UINT64_MAX) return nullptr;
    }
  }
  bool parts(Bytes word, WordScratch& scratch) const;

  const Strings& tokens_;
  std::vector<uint32_t> ids_;
  std::vector<Merge> slots_;
  unsigned shift_ = 63;
  size_t mask_ = 1;
  Unknown unknown_;
  Settings settings_;
};

// The longest token first, then the longest behind a prefix; all or nothing (BERT).
class WordPieceModel : public WordModel {
 public:
  WordPieceModel(const Trie& tokens, std::string_view prefix, size_t max_chars, uint32_t unknown);
  bool encode(Bytes word, WordScratch& scratch) const override;

 private:
  const Trie& tokens_;
  uint32_t inner_ = Trie::kRoot;  // the node of the prefix; kNothing: no token has it
  size_t max_chars_;
  uint32_t unknown_;
};

// A word is a token or unknown; or each of its characters (or kept symbols) is.
class WholeModel : public WordModel {
 public:
  WholeModel(const Strings& tokens, std::vector<uint32_t> ids, Unknown unknown, bool by_character, const Trie* kept)
      : tokens_(tokens), ids_(std::move(ids)), unknown_(unknown), by_character_(by_character), kept_(kept) {}
  bool encode(Bytes word, WordScratch& scratch) const override;

 private:
  const Strings& tokens_;
  std::vector<uint32_t> ids_;
  Unknown unknown_;
  bool by_character_;
  const Trie* kept_;
};

// Appends what an unknown text becomes; false where nothing is known for it.
bool add_unknown(const Unknown& unknown, Bytes text, std::vector<uint32_t>& ids);

}  // namespace tokcli
