// The models whose ids of a word do not depend on what stands around it: BPE over characters, WordPiece, whole words.
// The rules are those of the Python twins: sentencepiece.py, pair_bpe.py, llama_models.py, models.py, unigram.py.
#pragma once

#include <bit>
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

// What the models know of all tokens; the strings are numbered, and each number has an id.
struct Tokens {
  Strings strings;
  Table<uint32_t> ids;
  Trie trie;  // where the model wants it: to the numbers
  Trie kept;  // symbols that stay whole
  bool has_kept = false;

  const Trie* kept_symbols() const { return has_kept ? &kept : nullptr; }
  template <class Archive>
  void parts(Archive& archive) {
    strings.parts(archive);
    archive.table(ids);
    trie.parts(archive);
    kept.parts(archive);
    archive.flag(has_kept);
  }
  bool fits() const {
    return strings.fits() && ids.size() == strings.size() && trie.fits(ids.size()) && kept.fits(kNothing);
  }
};

// What unknown characters become.
struct Unknown {
  uint32_t id = kNothing;
  bool to_bytes = false;
  std::array<uint32_t, 256> bytes{};  // kNothing: there is no such token
  template <class Archive>
  void parts(Archive& archive) {
    archive.plain(id);
    archive.flag(to_bytes);
    for (uint32_t& byte : bytes) archive.plain(byte);
  }
};

// Which characters stand beside each other in any token: elsewhere nothing can merge, and a word may be cut. A filter: it
// may say so of others too.
class PairFilter {
 public:
  void build(const Strings& texts);
  bool may_hold(uint32_t left, uint32_t right) const {
    if ((left | right) < 128) return ascii_[left * 128 + right] != 0;
    if (right == kSpace && left != kSpace && !has_inner_space_) return false;
    const uint64_t hash = hash_of(left, right);
    return bits_[hash >> 6] >> (hash & 63) & 1;
  }
  template <class Archive>
  void parts(Archive& archive) {
    archive.table(bits_);
    archive.table(ascii_);
    archive.flag(has_inner_space_);
    if constexpr (Archive::kReads) measure();
  }
  bool fits() const { return ascii_.size() == kAscii && bits_.size() >= 2 && std::has_single_bit(bits_.size()); }

 private:
  static constexpr size_t kAscii = 128 * 128;
  void measure() { shift_ = static_cast<unsigned>(std::countl_zero(bits_.size() * 64 - 1)); }
  uint64_t hash_of(uint32_t left, uint32_t right) const {
    return (left * uint64_t{0x9E3779B97F4A7C15} ^ right * uint64_t{0xD6E8FEB86659FD93}) >> shift_;
  }
  static constexpr uint32_t kSpace = 0x2581;  // SentencePiece's, at which most words end

  Table<uint64_t> bits_{std::vector<uint64_t>(16)};
  Table<uint8_t> ascii_{std::vector<uint8_t>(kAscii)};
  unsigned shift_ = 54;
  bool has_inner_space_ = true;  // behind something else, in a token
};

// BPE in which two symbols merge where their text is a piece (SentencePiece, llama.cpp's SPM).
class PieceBpe : public WordModel {
 public:
  // `orders`: of each piece, the lower the sooner, equal ones from left to right. `kept`: pieces that are found whole before
  // anything merges, and never merge.
  PieceBpe(const Tokens& pieces, const Unknown& unknown) : pieces_(pieces), unknown_(unknown) {}
  void build(std::vector<uint32_t> orders, std::vector<uint8_t> is_kept) {
    orders_ = std::move(orders);
    is_kept_ = std::move(is_kept);
  }
  bool encode(Bytes word, WordScratch& scratch) const override;
  template <class Archive>
  void parts(Archive& archive) {
    archive.table(orders_);
    archive.table(is_kept_);
  }
  bool fits() const { return orders_.size() == pieces_.ids.size() && is_kept_.size() == pieces_.ids.size(); }

 private:
  const Tokens& pieces_;
  const Unknown& unknown_;
  Table<uint32_t> orders_;
  Table<uint8_t> is_kept_;
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
  PairBpeModel(const Tokens& tokens, const Unknown& unknown) : tokens_(tokens), unknown_(unknown) {}
  void build(const std::vector<Merge>& merges, Settings settings);
  bool encode(Bytes word, WordScratch& scratch) const override;
  template <class Archive>
  void parts(Archive& archive) {
    archive.table(slots_);
    archive.flag(settings_.fuse_unknown);
    archive.flag(settings_.has_unknown);
    archive.text(settings_.prefix);
    archive.text(settings_.suffix);
    if constexpr (Archive::kReads) measure();
  }
  bool fits() const;

 private:
  const Merge* find(uint32_t left, uint32_t right) const {
    const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
    for (size_t slot = pair * 0x9E3779B97F4A7C15u >> shift_;; slot = (slot + 1) & mask_) {
      if (slots_[slot].pair == pair) return &slots_[slot];
      if (slots_[slot].pair == UINT64_MAX) return nullptr;
    }
  }
  bool characters(Bytes word, WordScratch& scratch) const;
  void measure();

  const Tokens& tokens_;
  const Unknown& unknown_;
  Table<Merge> slots_;  // a power of two, at least half of it empty
  unsigned shift_ = 63;
  size_t mask_ = 1;
  Settings settings_;
};

// The longest token first, then the longest behind a prefix; all or nothing (BERT).
class WordPieceModel : public WordModel {
 public:
  WordPieceModel(const Tokens& tokens, const Unknown& unknown) : tokens_(tokens), unknown_(unknown) {}
  void build(std::string_view prefix, size_t max_chars);
  bool encode(Bytes word, WordScratch& scratch) const override;
  template <class Archive>
  void parts(Archive& archive) {
    archive.plain(inner_);
    archive.plain(max_chars_);
  }
  bool fits() const { return inner_ == kNothing || tokens_.trie.has_node(inner_); }

 private:
  const Tokens& tokens_;
  const Unknown& unknown_;
  uint32_t inner_ = Trie::kRoot;  // the node of the prefix; kNothing: no token has it
  size_t max_chars_ = 0;
};

// A word is a token or unknown; or each of its characters (or kept symbols) is.
class WholeModel : public WordModel {
 public:
  WholeModel(const Tokens& tokens, const Unknown& unknown) : tokens_(tokens), unknown_(unknown) {}
  void build(bool by_character) { by_character_ = by_character; }
  bool encode(Bytes word, WordScratch& scratch) const override;
  template <class Archive>
  void parts(Archive& archive) {
    archive.flag(by_character_);
  }
  bool fits() const { return true; }

 private:
  const Tokens& tokens_;
  const Unknown& unknown_;
  bool by_character_ = false;
};

// Appends what an unknown text becomes; false where nothing is known for it.
bool add_unknown(const Unknown& unknown, Bytes text, std::vector<uint32_t>& ids);

}  // namespace tokcli
