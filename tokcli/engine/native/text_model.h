// From text to ids for tokenizers that are not byte-level: added tokens, normalizer, words, model, and a cache of words.
// The order of things is that of pipeline.py and sentencepiece.py.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "normalize.h"
#include "unigram.h"
#include "word_cache.h"
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

// Characters that are words by themselves, and what they become: a word of one character has one way through it.
class SingleChars {
 public:
  struct Single {
    double score;
    uint32_t c, id;  // kNothing: it is unknown
  };
  // Where a character is kept, or another one that was seen since.
  Single& place_of(uint32_t c) { return singles_[c % kCount]; }

 private:
  static constexpr size_t kCount = 2048;  // 32 kB
  std::vector<Single> singles_ = std::vector<Single>(kCount, Single{0.0, kNothing, kNothing});
};

// What one thread needs.
struct TextScratch {
  // A word that a text was cut into.
  struct Part {
    Bytes word;
    uint32_t single;  // the character that it is, or kNothing
    WordCache::Key key;  // of short ones
    bool is_short() const { return word.size() <= WordCache::kMostBytes; }
  };
  static constexpr size_t kParts = 64;  // whose places in the cache are read at the same time

  WordCache cache;
  SingleChars singles;
  std::array<Part, kParts> parts;
  WordScratch word;
  std::string one, other, third;
  std::vector<uint32_t> unknown;
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
  void encode_parts(Call& call) const;
  void encode_word(const TextScratch::Part& part, Call& call) const;
  template <class Sum>
  void encode_sums(size_t count, Call& call) const;
  template <class Sum>
  void search(const TextScratch::Part& part, bool keeps, Call& call) const;
  void add_tokens(Bytes word, const uint32_t* tokens, size_t count, Call& call) const;
  void find_single(Bytes word, uint32_t c, SingleChars::Single& single) const;
  void add_unknown_word(Bytes word, Call& call) const;
  uint16_t class_of(uint32_t c, Needs& needs) const {
    const uint16_t found = classes[c];
    if (found == 0) needs.classes.insert(c);
    return found;
  }
};

}  // namespace tokcli
