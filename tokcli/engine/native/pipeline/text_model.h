// From text to ids through all stages of a tokenizer. The twin of engine/pipeline/pipeline.py and of
// engine/sentencepiece/model.py, made by engine/bindings.
//
// A text goes through these stages, each of which a tokenizer may lack: added tokens are found in it (`raw`); what is
// between them is normalized; added tokens are found in normalized text (`normalized`); characters cut it into pieces
// by their classes, and a metaspace is put before pieces; a piece is cut into words where no token crosses; and a model
// turns words into ids, with a cache of words. Words wait until there are 64 of them, so that their places in the cache
// are read together. For byte-level tokenizers, ranks and a pattern (rank_model.h) do all that follows the added tokens.
// Threads may share a long text.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/worker_pool.h"
#include "characters/character_groups.h"
#include "models/unigram.h"
#include "models/word_cache.h"
#include "models/word_models.h"
#include "stages/added_tokens.h"
#include "stages/char_rules.h"
#include "stages/form_check.h"
#include "pipeline/rank_model.h"
#include "stages/space_rules.h"
#include "stages/steps.h"
#include "text/byte_set.h"
#include "text/spans.h"

namespace tokcli {

// The tokens of characters that are words by themselves. They need no model: there is only one path through one character.
class SingleChars {
 public:
  struct Single {
    uint32_t c, token;  // token: its id; its number, where sums go through the whole text
  };
  // Returns the place of a character, where another one may be.
  Single& place_of(uint32_t c) { return singles_[c % kCount]; }

 private:
  static constexpr size_t kCount = 2048;  // 16 kB
  std::vector<Single> singles_ = std::vector<Single>(kCount, Single{kNone, kNone});
};

// The memory that encoding a text needs, for one thread.
struct TextScratch {
  struct Source {};  // of which nothing has to be known
  explicit TextScratch(Source) {}
  // A word that waits to be encoded.
  struct WaitingWord {
    Bytes word;
    uint32_t single;     // the one character that the word is; kNone for other words
    WordCache::Key key;  // of a short word
    bool is_short() const { return word.size() <= WordCache::kMostBytes; }
  };
  static constexpr size_t kMostWaiting = 64;

  WordCache cache;
  SingleChars singles;
  std::array<WaitingWord, kMostWaiting> waiting;
  WordScratch word;
  std::string one, other;  // normalized text: steps read one of these and write the other
  ByteBuffer formed;       // a text in a normal form
  std::string piece;       // a piece with its metaspaces; or room for a row of pieces, and how much of it has some
  size_t row_size = 0;
  Origins one_origins, other_origins, piece_origins;  // of these three, where places are kept
  std::vector<uint32_t> unknown;  // the ids of an unknown word

  // Gives back what a text of so many bytes has taken, if that is much.
  void trim(size_t size) {
    constexpr size_t kMostKept = size_t{1} << 22;  // bytes
    if (std::max({size, one.capacity(), other.capacity(), piece.capacity(), formed.capacity()}) <= kMostKept) return;
    formed = {};
    for (std::string* text : {&one, &other, &piece}) std::string().swap(*text);
    for (Origins* origins : {&one_origins, &other_origins, &piece_origins}) *origins = {};
    word = {};
  }
};

using ScratchPool = WorkerPool<TextScratch, TextScratch::Source>;

// What one thread needs to encode texts, one after another.
struct TextWorker {
  explicit TextWorker(ScratchPool& pool) : pool(pool), scratch(pool) {}
  ScratchPool& pool;  // for further threads
  ScratchPool::Lease scratch;
  std::optional<EncoderPool::Lease> encoder;  // for ranks
};

// Whether a text is not encoded: it is left to Python, which alone can encode it; or, where the normalizer makes too much of
// it, it has `most` characters too many for anybody.
struct Refusal {
  bool is_refused = false;
  uint64_t most = 0;  // how many may be made of the text, if that is why; else 0
  void add(const Refusal& other) {
    if (!is_refused) *this = other;
  }
};

// Which pieces a metaspace is put before: none, all, or the first of a text.
enum class MetaspacePrefix : uint8_t { kNever, kAlways, kFirst };
// Where pieces are cut into words: nowhere, before each space, or wherever no token crosses.
enum class WordCut : uint8_t { kNowhere, kAtSpaces, kWherePossible };
// Which pieces become the token that they are, without a merge: none, all, or those of newlines.
enum class WholeFirst : uint8_t { kNever, kAlways, kLines };
// What a sum of scores goes through: one word; or the whole text, in 32 or 64 bits (Unigram).
enum class Sums : uint8_t { kPerWord, kPerText32, kPerText64 };

// All models. One of them is used.
struct Models {
  Models(const Tokens& tokens, const Unknown& unknown)
      : pieces(tokens, unknown), pairs(tokens, unknown), word_piece(tokens, unknown), whole(tokens, unknown),
        unigram(tokens), unigram_words(unigram, tokens, unknown) {}
  PieceBpe pieces;
  PairBpeModel pairs;
  WordPieceModel word_piece;
  WholeModel whole;
  Unigram unigram;
  UnigramModel unigram_words;
  // kRanks: none of these, but TextModel::ranks
  enum class Used : uint8_t { kNone, kPieces, kPairs, kWordPiece, kWhole, kUnigram, kRanks } which = Used::kNone;

  template <class Archive>
  void fields(Archive& archive) {
    archive.choice(which, 7);
    switch (which) {
      case Used::kNone:
      case Used::kRanks: break;
      case Used::kPieces: return pieces.fields(archive);
      case Used::kPairs: return pairs.fields(archive);
      case Used::kWordPiece: return word_piece.fields(archive);
      case Used::kWhole: return whole.fields(archive);
      case Used::kUnigram: return unigram.fields(archive);
    }
  }
  bool fits() const {
    switch (which) {
      case Used::kNone: return false;
      case Used::kRanks: return true;
      case Used::kPieces: return pieces.fits();
      case Used::kPairs: return pairs.fits();
      case Used::kWordPiece: return word_piece.fits();
      case Used::kWhole: return whole.fits();
      case Used::kUnigram: return unigram.fits();
    }
    return false;
  }
  const WordModel* used() const {
    switch (which) {
      case Used::kNone:
      case Used::kRanks: return nullptr;
      case Used::kPieces: return &pieces;
      case Used::kPairs: return &pairs;
      case Used::kWordPiece: return &word_piece;
      case Used::kWhole: return &whole;
      case Used::kUnigram: return &unigram_words;
    }
    return nullptr;
  }
};

// A tokenizer, made once from checked tables or opened from an image.
struct TextModel {
  TextModel() = default;
  TextModel(const TextModel&) = delete;  // the models refer to the other fields
  TextModel& operator=(const TextModel&) = delete;

  // --- tables and options, set once ---
  Tokens tokens;
  Unknown unknown;
  Models models{tokens, unknown};
  const WordModel* model = nullptr;  // the model that is used, if it is one of words
  RankModel ranks;                   // the model of Used::kRanks; set again once an image was opened
  Sums sums = Sums::kPerWord;
  WordCut word_cut = WordCut::kNowhere;
  WholeFirst whole_first = WholeFirst::kNever;
  bool cuts_before_known = false;  // words are cut only before characters that are tokens
  bool joins_unknown = false;      // unknown words that follow each other are one id
  PairFilter pairs;
  std::string space;               // SentencePiece's space, U+2581

  AddedTokens raw, normalized;     // tokens that are found before and after normalizing
  std::vector<Step> steps;
  CharRules chars;
  std::optional<FormCheck> form;   // the steps of `chars`, where they are one normal form
  SpaceRules spaces;
  bool has_classes = false;        // pieces are cut where the group of characters changes
  CharacterGroups groups;          // by which pieces are cut
  bool has_metaspace = false, metaspace_splits = false;
  bool prefixes_blindly = false;   // a metaspace is put before each piece, also where one is, and spaces stay
  MetaspacePrefix prefix = MetaspacePrefix::kNever;

  template <class Archive>
  void fields(Archive& archive) {
    tokens.fields(archive);
    unknown.fields(archive);
    models.fields(archive);
    archive.choice(sums, 3);
    archive.choice(word_cut, 3);
    archive.choice(whole_first, 3);
    for (bool* flag : {&cuts_before_known, &joins_unknown, &has_classes, &has_metaspace, &metaspace_splits,
                       &prefixes_blindly})
      archive.flag(*flag);
    pairs.fields(archive);
    archive.text(space);
    raw.fields(archive);
    normalized.fields(archive);
    each_item(archive, steps);
    chars.fields(archive);
    spaces.fields(archive);
    each_item(archive, groups.rules);
    archive.choice(prefix, 3);
    if constexpr (Archive::kReads) {
      model = models.used();
      prepare_chars();
      groups.prepare();
    }
  }
  bool fits() const;
  // Returns whether there is a model to encode with.
  bool is_ready() const { return model != nullptr || ranks.encoders != nullptr; }
  // To be called once the steps for characters are set.
  void prepare_chars();
  // Fills an empty model from an image, which has to stay where it is. Throws std::invalid_argument where it is no
  // image.
  void open(Bytes image);

  // What encode is asked. At most `threads` share the work; the two strings of states have a byte for each added token.
  struct Task {
    Bytes text, raw_states, normalized_states;
    size_t threads = 1;
    Ends ends{};            // those of a part that part_ends has cut out of a longer text
    double* sum = nullptr;  // where sums go through the whole text: the one before such a part (null: 0), then the one after it
    // What is wanted; null for what is not. `ids` are appended. `spans` gets two numbers for each id: the first and the
    // past-the-end character in the text. `blanks` gets two more, of ranks only: with how many
    // spaces its text begins and ends. `take`, of ranks without spans, is called to take ids out of `ids` (EncoderPool).
    IdBuffer* ids = nullptr;
    Spans* spans = nullptr;
    IdBuffer* blanks = nullptr;
    const EncoderPool::TakeIds* take = nullptr;
    // Wanted instead of ids and all of these: where the pieces of the text end, in bytes, in order; some may be equal.
    Spans* piece_ends = nullptr;
  };
  // Returns the number of ids of a text. Where it is refused, what was appended is not to be used.
  size_t encode(const Task& task, TextWorker& worker, Refusal& refusal) const;
  // Returns whether any text may be encoded part by part, each of which ends where Text may be cut: no place is asked for.
  bool takes_parts() const;
  // Returns where parts of a text end, each of `size` bytes or a few more, that have its ids and their places also one by
  // one. There are none where it has to be encoded whole.
  std::vector<uint64_t> part_ends(Bytes text, Bytes raw_states, size_t size) const;
  // Returns whether the normalizer is SentencePiece's.
  bool has_space_rules() const;

 private:
  struct Call;
  struct FoundWords;
  struct Made;
  template <class Visit>
  void find_added(const AddedTokens& added, Bytes states, Bytes text, const Visit& visit) const {
    added.find(text, states, [this](uint32_t c) { return groups.is_word(c); }, visit);
  }
  void encode_segment(Bytes segment, bool is_first, Bytes states, Call& call) const;
  void encode_part(Bytes part, Ends ends, bool is_first, Bytes states, Call& call) const;
  bool finds_in_parts() const { return normalized.tokens.empty() || (!normalized.spans_spaces && sums == Sums::kPerWord); }
  bool is_cut_before_space(const uint8_t* at, const uint8_t* begin, const uint8_t* end) const;
  bool is_cut_at(uint32_t left, std::string_view between) const;
  Bytes normalize(Bytes segment, Ends ends, Call& call) const;
  bool knows_places() const;
  bool knows_pieces() const;
  void encode_pieces(Bytes text, bool is_first, Call& call) const;
  void encode_ranks(Bytes text, Call& call) const;
  void split_by_ranks(Bytes text, Bytes whole, const Splitting& by, Call& call) const;
  void add_blanks_of(Bytes token, Call& call) const;
  void place_ranks(Bytes text, Bytes whole, std::span<const uint32_t> ids, Call& call) const;
  template <class Visit>
  bool each_token(Bytes text, std::span<const uint32_t> ids, Call& call, const Visit& visit) const;
  void encode_piece(Bytes piece, bool is_first, Call& call) const;
  void encode_in_row(std::string_view before, Bytes piece, Call& call) const;
  void encode_words(Bytes piece, Call& call) const;
  void add_word(Bytes word, uint32_t single, Call& call) const;
  void add_words(Bytes piece, Call& call) const;
  void add_words_cut(Bytes piece, Call& call) const;
  bool is_cut(const uint8_t* at, const uint8_t* begin, const uint8_t* end) const;
  bool may_share(const Call& call) const;
  template <class Encode>
  void encode_apart(Bytes text, const Call& call, bool keeps_ids, TextWorker& worker, Made& made,
                    const Encode& encode) const;
  template <class IsCut, class Encode>
  bool in_parts(Bytes text, Call& call, const IsCut& is_cut, const Encode& encode) const;
  void encode_waiting(Call& call) const;
  void encode_word(TextScratch::WaitingWord& waiting, Call& call) const;
  void place_word(TextScratch::WaitingWord& waiting, Call& call) const;
  uint32_t size_in_word(uint32_t id, size_t at) const;
  bool sizes_tell_places(size_t size, const WordScratch& scratch) const;
  template <class Encode>
  size_t share_sums(const std::vector<Bytes>& parts, Call& call, const Encode& encode) const;
  void encode_sums(size_t count, Call& call) const;
  template <class Sum>
  void sum_words(size_t count, Call& call) const;
  template <class Sum>
  void find_words(size_t count, Call& call) const;
  void add_found(const Made& made, Call& call) const;
  template <class Sum>
  void add_found_words(const Made& made, Call& call) const;
  template <class Sum>
  bool sum_tokens(Bytes word, const uint32_t* numbers, size_t count, Sum limit, Sum& sum, Call& call) const;
  template <class Sum>
  struct Searched {
    Sum sum;
    float limit;
  };
  template <class Sum>
  Searched<Sum> search(const TextScratch::WaitingWord& waiting, Sum sum, bool keeps, Call& call) const;
  const uint32_t& token_of(const TextScratch::WaitingWord& waiting, Call& call) const;
  void add_tokens(Bytes word, const uint32_t* numbers, size_t count, Call& call) const;
  void add_unknown_word(Bytes word, Call& call) const;
};

}  // namespace tokcli
