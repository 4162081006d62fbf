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

// Some of a kind, each with its parts.
template <class Archive, class T>
void each_part(Archive& archive, std::vector<T>& items) {
  uint32_t count = static_cast<uint32_t>(items.size());
  archive.plain(count);
  for (uint32_t i = 0; i < count; ++i) {
    if constexpr (Archive::kReads) items.emplace_back();  // one after the other: an image may be too short for them
    items[i].parts(archive);
  }
}

// Added tokens, found in text before anything else (added_tokens.py).
struct AddedTokens {
  struct Token {
    uint32_t id = 0;
    bool single_word = false, left = false, right = false;  // takes white space on its left, right
    template <class Archive>
    void parts(Archive& archive) {
      archive.plain(id);
      for (bool* flag : {&single_word, &left, &right}) archive.flag(*flag);
    }
  };
  std::vector<Token> tokens;
  Trie trie;  // to a token's number
  std::array<bool, 256> begins{};
  template <class Archive>
  void parts(Archive& archive) {
    each_part(archive, tokens);
    trie.parts(archive);
    for (bool& begins_one : begins) archive.flag(begins_one);
  }
};

// Characters that are words by themselves, and what they become: a word of one character has one way through it.
class SingleChars {
 public:
  struct Single {
    double score;
    uint32_t c, id;  // kNothing: it is unknown (Unigram)
  };
  // Where a character is kept, or another one that was seen since.
  Single& place_of(uint32_t c) { return singles_[c % kCount]; }

 private:
  static constexpr size_t kCount = 2048;  // 32 kB
  std::vector<Single> singles_ = std::vector<Single>(kCount, Single{0.0, kNothing, kNothing});
};

// What one thread needs.
struct TextScratch {
  // A word that a text was cut into, and that is to be encoded.
  struct Waiting {
    Bytes word;
    uint32_t single;  // the character that it is, or kNothing
    WordCache::Key key;  // of short ones
    bool is_short() const { return word.size() <= WordCache::kMostBytes; }
  };
  static constexpr size_t kMostWaiting = 64;  // whose places in the cache are read at the same time

  WordCache cache;
  SingleChars singles;
  std::array<Waiting, kMostWaiting> waiting;
  WordScratch word;
  std::string one, other, third;
  std::vector<uint32_t> unknown;
};

enum class Prefix : uint8_t { kNever, kAlways, kFirst };
enum class Words : uint8_t { kWhole, kAtSpaces, kWherePossible };
enum class Kind : uint8_t { kWord, kSums32, kSums64 };

// All models, of which one is used.
struct Models {
  Models(const Tokens& tokens, const Unknown& unknown)
      : pieces(tokens, unknown), pairs(tokens, unknown), word_piece(tokens, unknown), whole(tokens, unknown),
        sums(tokens.trie), unigram(sums, tokens, unknown) {}
  PieceBpe pieces;
  PairBpeModel pairs;
  WordPieceModel word_piece;
  WholeModel whole;
  Unigram sums;
  UnigramModel unigram;
  enum class Used : uint8_t { kNone, kPieces, kPairs, kWordPiece, kWhole, kUnigram } which = Used::kNone;

  template <class Archive>
  void parts(Archive& archive) {
    archive.choice(which, 6);
    switch (which) {
      case Used::kNone: break;
      case Used::kPieces: return pieces.parts(archive);
      case Used::kPairs: return pairs.parts(archive);
      case Used::kWordPiece: return word_piece.parts(archive);
      case Used::kWhole: return whole.parts(archive);
      case Used::kUnigram: return sums.parts(archive);
    }
  }
  bool fits() const {
    switch (which) {
      case Used::kNone: return false;
      case Used::kPieces: return pieces.fits();
      case Used::kPairs: return pairs.fits();
      case Used::kWordPiece: return word_piece.fits();
      case Used::kWhole: return whole.fits();
      case Used::kUnigram: return sums.fits();
    }
    return false;
  }
  const WordModel* used() const {
    switch (which) {
      case Used::kNone: return nullptr;
      case Used::kPieces: return &pieces;
      case Used::kPairs: return &pairs;
      case Used::kWordPiece: return &word_piece;
      case Used::kWhole: return &whole;
      case Used::kUnigram: return &unigram;
    }
    return nullptr;
  }
};

struct TextModel {
  TextModel() = default;
  TextModel(const TextModel&) = delete;  // the models refer to the other parts
  TextModel& operator=(const TextModel&) = delete;

  // --- the parts, set once ---
  Tokens tokens;
  Unknown unknown;
  Models models{tokens, unknown};
  const WordModel* model = nullptr;  // the one of them that is used
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

  template <class Archive>
  void parts(Archive& archive) {
    tokens.parts(archive);
    unknown.parts(archive);
    models.parts(archive);
    archive.choice(kind, 3);
    archive.choice(words, 3);
    for (bool* flag : {&whole_first, &cuts_before_known, &joins_unknown, &has_classes, &has_metaspace, &metaspace_splits,
                       &prefixes_blindly})
      archive.flag(*flag);
    pairs.parts(archive);
    archive.text(space);
    raw.parts(archive);
    normalized.parts(archive);
    each_part(archive, steps);
    chars.parts(archive);
    spaces.parts(archive);
    classes.parts(archive);
    archive.choice(prefix, 3);
    if constexpr (Archive::kReads) model = models.used();
  }
  bool fits() const;
  // Makes an empty model that of an image, which has to stay where it is; std::invalid_argument where it is none.
  void open(Bytes image);

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
  void encode_waiting(Call& call) const;
  void encode_word(TextScratch::Waiting& part, Call& call) const;
  template <class Sum>
  void encode_sums(size_t count, Call& call) const;
  template <class Sum>
  void search(const TextScratch::Waiting& part, bool keeps, Call& call) const;
  void add_tokens(Bytes word, const uint32_t* numbers, size_t count, Call& call) const;
  void find_single(Bytes word, uint32_t c, SingleChars::Single& single) const;
  void add_unknown_word(Bytes word, Call& call) const;
  uint16_t class_of(uint32_t c, Needs& needs) const {
    const uint16_t found = classes[c];
    if (found == 0) needs.classes.insert(c);
    return found;
  }
};

}  // namespace tokcli
