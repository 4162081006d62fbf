// From text to ids for tokenizers that are not byte-level: added tokens, normalizer, words, model, and a cache of words.
// The order of things is that of pipeline.py and sentencepiece.py.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "normalize.h"
#include "unigram.h"
#include "word_models.h"

namespace tokcli {

// Added tokens, found in text before anything else (added_tokens.py).
struct AddedTokens {
  struct Token {
    uint32_t id;
    bool single_word, left, right;  // takes white space on its left, right
  };
  std::vector<Token> tokens;
  Trie trie;  // to a token's number
  std::array<bool, 256> begins{};
};

// Words and their ids, for one thread. Bounded: what is new takes the second place of its pair, and the first when it is
// seen again.
class WordCache {
 public:
  static constexpr size_t kMostBytes = 30, kMostIds = 7;
  struct alignas(64) Slot {
    float limit;  // how large the sum before the word may be (Unigram)
    uint8_t size, count;
    uint8_t bytes[kMostBytes];
    uint32_t ids[kMostIds];
    bool holds(Bytes word) const { return size == word.size() && std::memcmp(bytes, word.data(), word.size()) == 0; }
  };

  WordCache() : pairs_(size_t{1} << kBits) {}
  // The slot of a word of 1 to kMostBytes bytes, or null.
  const Slot* find(Bytes word) {
    Pair& pair = pairs_[hash_bytes(word.data(), word.size()) >> (64 - kBits)];
    if (pair.first.holds(word)) [[likely]] return &pair.first;
    if (!pair.second.holds(word)) return nullptr;
    std::swap(pair.first, pair.second);
    return &pair.first;
  }
  void keep(Bytes word, const std::vector<uint32_t>& ids, float limit) {
    if (word.empty() || word.size() > kMostBytes || ids.size() > kMostIds) return;
    Pair& pair = pairs_[hash_bytes(word.data(), word.size()) >> (64 - kBits)];
    Slot& slot = pair.first.size == 0 ? pair.first : pair.second;
    slot.limit = limit;
    slot.size = static_cast<uint8_t>(word.size());
    slot.count = static_cast<uint8_t>(ids.size());
    std::memcpy(slot.bytes, word.data(), word.size());
    if (!ids.empty()) std::memcpy(slot.ids, ids.data(), ids.size() * sizeof(uint32_t));
  }

 private:
  static constexpr unsigned kBits = 15;  // 4 MB
  struct Pair {
    Slot first, second;
  };
  ZeroedArray<Pair> pairs_;
};

// What one thread needs.
struct TextScratch {
  WordCache cache;
  WordScratch word;
  std::string one, other, third;
};

enum class Prefix : uint8_t { kNever, kAlways, kFirst };
enum class Words : uint8_t { kWhole, kAtSpaces, kWherePossible };
enum class Kind : uint8_t { kWord, kSums32, kSums64 };

struct TextModel {
  // --- the parts, set once ---
  Strings strings;  // of the tokens
  std::vector<uint32_t> ids;
  Trie trie;        // of the tokens, where the model wants it
  Trie kept;        // symbols that stay whole
  bool has_kept = false;
  std::unique_ptr<WordModel> model;  // Kind::kWord
  std::unique_ptr<Unigram> unigram;
  Unknown unknown;
  Kind kind = Kind::kWord;
  Words words = Words::kWhole;
  bool whole_first = false;        // a piece that is a token is not taken apart
  bool cuts_before_known = false;  // only before characters that are tokens
  bool joins_unknown = false;
  PairFilter pairs;
  std::string space;  // of SentencePiece

  AddedTokens raw, normalized;
  std::vector<Step> steps;
  CharRules chars;
  SpaceRules spaces;
  bool has_classes = false;
  CodePages<uint16_t> classes;  // kAsked, kWordChar, and the group in the low byte
  bool has_metaspace = false, metaspace_splits = false, prefixes_blindly = false;
  Prefix prefix = Prefix::kNever;

  static constexpr uint16_t kAsked = 0x8000, kWordChar = 0x100;
  static constexpr uint8_t kRemoved = 0xFF, kIsolated = 0xFE;
  static constexpr uint8_t kFound = 1, kIgnored = 2, kNotFound = 0;  // of each added token, in a call

  // Appends the ids of a text. Where `needs` is not empty afterwards, they are not to be used.
  void encode(Bytes text, Bytes raw_states, Bytes normalized_states, TextScratch& scratch, IdBuffer* out,
              Needs& needs) const;

 private:
  struct Call;
  template <class Visit>
  void find_added(const AddedTokens& added, Bytes states, Bytes text, Call& call, const Visit& visit) const;
  void encode_segment(Bytes segment, bool is_first, Bytes states, Call& call) const;
  Bytes normalize(Bytes segment, Call& call) const;
  void encode_pieces(Bytes text, bool is_first, Call& call) const;
  void encode_piece(Bytes piece, bool is_first, Call& call) const;
  void encode_words(Bytes piece, Call& call) const;
  void encode_word(Bytes word, Call& call) const;
  void encode_sums(Bytes word, Call& call) const;
  uint16_t class_of(uint32_t c, Needs& needs) const {
    const uint16_t found = classes[c];
    if (found == 0) needs.classes.insert(c);
    return found;
  }
};

}  // namespace tokcli
