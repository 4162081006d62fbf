// Models that encode one word at a time, whatever text is around it: BPE over characters, WordPiece, whole words. Their
// twins in Python are engine/pipeline/models.py, engine/bpe/pairs.py, engine/sentencepiece/model.py and
// engine/llama_cpp/{words,fragment_models}.py.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_buffer.h"
#include "base/watch.h"
#include "models/strings.h"
#include "models/trie.h"

namespace tokcli {

// Counts the ids of a text, and appends them to `out` if that is not null. An id that is `joined` (that of unknown text,
// where a model wants it so) never follows itself: however long unknown text is, it is one id.
class IdSink {
 public:
  IdSink(IdBuffer* out, uint32_t joined) : out_(out), joined_(joined) {}
  void add(const uint32_t* ids, size_t count) {
    if (count == 0) return;
    if (joined_ != kNone) {
      for (size_t i = 0; i < count; ++i) add_or_join(ids[i]);
      return;
    }
    count_ += count;
    if (out_ == nullptr) return;
    std::memcpy(out_->reserve(count), ids, count * sizeof(uint32_t));
    out_->commit(count);
  }
  // Adds the first `count` ids of a few, all of which may be read: that is faster than to copy just as many.
  template <size_t kMost>
  void add_of(const uint32_t (&ids)[kMost], size_t count) {
    if (joined_ != kNone) return add(ids, count);
    count_ += count;
    if (out_ == nullptr) return;
    std::memcpy(out_->reserve(kMost), ids, sizeof ids);
    out_->commit(count);
  }
  void add(uint32_t id) { add(&id, 1); }
  // Counts ids that were counted elsewhere, and appended to `buffer` where the sink keeps ids.
  void add_count(size_t count) { count_ += count; }
  // Where ids are appended that are counted with add_count, of a sink that joins none; null where it keeps none.
  IdBuffer* buffer() { return out_; }
  // The number of ids that were added to this sink.
  size_t count() const { return count_; }
  bool keeps_ids() const { return out_ != nullptr; }
  // Returns whether there is an id that may be one with the last id.
  bool joins_any() const { return joined_ != kNone; }
  // Returns whether an id that is added now is one with the last id.
  bool joins(uint32_t id) const { return id == joined_ && last_ == joined_ && joined_ != kNone; }

 private:
  void add_or_join(uint32_t id) {
    const bool is_joined = id == joined_ && last_ == joined_;
    last_ = id;
    if (is_joined) return;
    ++count_;
    if (out_ == nullptr) return;
    *out_->reserve(1) = id;
    out_->commit(1);
  }

  IdBuffer* out_;
  size_t count_ = 0;
  uint32_t joined_;  // kNone: every id is added
  uint32_t last_ = kNone;
};

// The memory that encoding a word needs, for one thread.
struct WordScratch {
  // A token, or a character that is none, while a word is merged; begin and end are places in the word's bytes.
  struct Symbol {
    uint32_t id, begin, end;
    int32_t previous, next;
  };
  // A merge that may be made, in a heap.
  struct Candidate {
    uint64_t order;  // the rank above the number of the left symbol
    uint32_t made;
  };
  std::vector<Symbol> symbols, window, merged;
  std::vector<Candidate> heap;
  std::vector<uint32_t> ids;
  // The first and the past-the-end byte in the word of each id, where they are wanted: of whole characters. Ids that
  // stand for the bytes of a character all have its place.
  struct Place {
    uint32_t begin, end;
  };
  bool wants_places = false;
  std::vector<Place> places;
  void add(uint32_t id, size_t begin, size_t end) {
    ids.push_back(id);
    if (wants_places) places.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  }
  void clear() {
    ids.clear();
    places.clear();
  }
  // For Unigram: the score of the best path to each byte of a word, in sums of 64 or 32 bits.
  std::vector<double> best;
  std::vector<float> best_single;
  // The scores of the best path to a byte and of the second one, from 0 at the beginning of the word.
  struct Paths {
    double best, second;
  };
  std::vector<Paths> paths;
  struct Step {
    uint32_t begin, token;  // the last token on the best path to a byte; kUnknownToken for an unknown character
  };
  std::vector<Step> steps;
  Pace pace;
};

// A model of words.
class WordModel {
 public:
  virtual ~WordModel() = default;
  // Writes the ids of a word to scratch.ids, and their places where they are wanted. Returns false where only Python can say what they are.
  virtual bool encode(Bytes word, WordScratch& scratch) const = 0;
};

// What unknown characters become: the token of each of their bytes, or one id.
struct Unknown {
  uint32_t id = kNone;
  bool to_bytes = false;
  std::array<uint32_t, 256> bytes{};  // kNone: the byte has no token
  template <class Archive>
  void fields(Archive& archive) {
    archive.plain(id);
    archive.flag(to_bytes);
    for (uint32_t& byte : bytes) archive.plain(byte);
  }
};

// All tokens: their texts, which are numbered, and the id of each number.
struct Tokens {
  Strings strings;
  Table<uint32_t> ids;
  Trie trie;  // from texts to numbers, for the models that need it
  Trie kept;  // symbols that are never taken apart
  bool has_kept = false;
  // The size of the text of each id, where an id is always that text in a word; empty where ids are too far apart.
  std::vector<uint32_t> sizes;
  static constexpr uint32_t kNoSize = UINT32_MAX;
  uint32_t size_of(uint32_t id) const { return id < sizes.size() ? sizes[id] : kNoSize; }
  // Finds out the sizes; ids that stand for unknown text or for bytes have none.
  void measure(const Unknown& unknown);

  const Trie* kept_symbols() const { return has_kept ? &kept : nullptr; }
  template <class Archive>
  void fields(Archive& archive) {
    strings.fields(archive);
    archive.table(ids);
    trie.fields(archive);
    kept.fields(archive);
    archive.flag(has_kept);
  }
  bool fits() const {
    return strings.fits() && ids.size() == strings.size() && trie.fits(ids.size()) && kept.fits(kNone);
  }
};

// Which two characters are next to each other in some token. Where two others meet, nothing can merge across, and a
// word may be cut. This is a filter: it may also say so of pairs that are in no token.
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
  void fields(Archive& archive) {
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
  static constexpr uint32_t kSpace = 0x2581;  // SentencePiece's space, where most words are cut

  Table<uint64_t> bits_{std::vector<uint64_t>(16)};
  Table<uint8_t> ascii_{std::vector<uint8_t>(kAscii)};
  unsigned shift_ = 54;
  bool has_inner_space_ = true;  // some token has kSpace after another character
};

// BPE in which two symbols merge where both together are a token (SentencePiece, llama.cpp's SPM).
class PieceBpe : public WordModel {
 public:
  PieceBpe(const Tokens& pieces, const Unknown& unknown) : pieces_(pieces), unknown_(unknown) {}
  // `orders`: when each token is merged, the lowest first and equal ones from left to right. `is_kept`: tokens that are
  // found whole before anything merges, and never merge.
  void build(std::vector<uint32_t> orders, std::vector<uint8_t> is_kept) {
    orders_ = std::move(orders);
    is_kept_ = std::move(is_kept);
  }
  bool encode(Bytes word, WordScratch& scratch) const override;
  template <class Archive>
  void fields(Archive& archive) {
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

// BPE by a list of merges (tokenizer.json).
class PairBpeModel : public WordModel {
 public:
  struct Options {
    bool fuse_unknown = false, has_unknown = false;
    std::string prefix, suffix;
  };
  struct PairMerge {
    uint64_t pair;  // the left id above the right one
    uint32_t rank, made;
  };
  PairBpeModel(const Tokens& tokens, const Unknown& unknown) : tokens_(tokens), unknown_(unknown) {}
  void build(const std::vector<PairMerge>& merges, Options options);
  // Whether the text of each token is what it stands for in a word.
  bool is_plain() const { return options_.prefix.empty() && options_.suffix.empty(); }
  bool encode(Bytes word, WordScratch& scratch) const override;
  template <class Archive>
  void fields(Archive& archive) {
    archive.plain(seed_);
    archive.table(slots_);
    archive.flag(options_.fuse_unknown);
    archive.flag(options_.has_unknown);
    archive.text(options_.prefix);
    archive.text(options_.suffix);
    if constexpr (Archive::kReads) measure();
  }
  bool fits() const;

 private:
  const PairMerge* find(uint32_t left, uint32_t right) const {
    const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
    for (size_t slot = slot_of(pair);; slot = (slot + 1) & mask_) {
      if (slots_[slot].pair == pair) return &slots_[slot];
      if (slots_[slot].pair == UINT64_MAX) return nullptr;
    }
  }
  size_t slot_of(uint64_t pair) const { return static_cast<size_t>(mix(pair ^ seed_, kHashLow) >> shift_); }
  bool characters(Bytes word, WordScratch& scratch) const;
  static void place_symbols(Bytes word, WordScratch& scratch);
  void measure();

  const Tokens& tokens_;
  const Unknown& unknown_;
  uint64_t seed_ = process_seed().low;  // of the process that built the table
  Table<PairMerge> slots_;  // a power of two, at least half of it empty
  unsigned shift_ = 63;
  size_t mask_ = 1;
  Options options_;
};

// WordPiece (BERT): the longest token that a word begins with, then the longest one that continues it, which has a
// prefix. If any of the word is left over, all of it is unknown.
class WordPieceModel : public WordModel {
 public:
  WordPieceModel(const Tokens& tokens, const Unknown& unknown) : tokens_(tokens), unknown_(unknown) {}
  void build(std::string_view prefix, size_t max_chars);
  bool encode(Bytes word, WordScratch& scratch) const override;
  // The size of the prefix, which tokens after the first of a word have and their text in it has not.
  uint32_t prefix_size() const { return prefix_size_; }
  template <class Archive>
  void fields(Archive& archive) {
    archive.plain(inner_);
    archive.plain(max_chars_);
    archive.plain(prefix_size_);
  }
  bool fits() const { return inner_ == kNone || tokens_.trie.has_node(inner_); }

 private:
  const Tokens& tokens_;
  const Unknown& unknown_;
  uint32_t inner_ = Trie::kRoot;  // the node of the prefix; kNone: no token has it
  size_t max_chars_ = 0;
  uint32_t prefix_size_ = 0;
};

// Each word is a token or unknown; or each of its characters and kept symbols is (`by_character`).
class WholeModel : public WordModel {
 public:
  WholeModel(const Tokens& tokens, const Unknown& unknown) : tokens_(tokens), unknown_(unknown) {}
  void build(bool by_character) { by_character_ = by_character; }
  bool encode(Bytes word, WordScratch& scratch) const override;
  template <class Archive>
  void fields(Archive& archive) {
    archive.flag(by_character_);
  }
  bool fits() const { return true; }

 private:
  const Tokens& tokens_;
  const Unknown& unknown_;
  bool by_character_ = false;
};

// Appends the ids of an unknown text. Returns false where it has none.
bool add_unknown(const Unknown& unknown, Bytes text, std::vector<uint32_t>& ids);

}  // namespace tokcli
