// From text to ids: the hot loop. Begin to read here.
//
// The native code in folders; each uses only those above it, and module/ alone includes Python.h:
//
//   base/           hashing, buffers, threads, what the processor can do
//   text/           str and UTF-8, Unicode classes, places to cut, ids in decimal
//   input/          bytes as files have them: how much is UTF-8, what stands for the rest, records, JSON Lines
//   pretokenizers/  text -> pieces: a scanner for each family of patterns (scan.h), 64 bytes at a time (pieces.h)
//   patterns/       text -> pieces for any other pattern: its program (program.h), run by an automaton (matcher.h)
//   bpe/            pieces -> ids: the vocabulary image (vocabulary.h), merging (merging/merge.h), lists of merges as ranks
//   tiktoken/       ranks and a pattern together: this file, threads (encoder_pool.h), ids -> bytes (decoder.h)
//   models/         models that are not byte-level, a word at a time: BPE over characters, WordPiece, Unigram
//   stages/         added tokens and normalizers: what a text goes through before a model sees it
//   pipeline/       all stages together, with one of those models, or with ranks (text_model.h)
//   views/          pieces and tokens as people see them: rows, totals
//   training/       counting pieces (piece_table.h) and learning merges (trainer.h)
//   module/         the Python module `_native`: checks arguments, releases the GIL, makes Python's objects
//
// The way of a call: `_native.TextModel.encode` (module/classes/py_text_model.cc) turns a str into UTF-8, part by part.
// TextModel::encode (pipeline/text_model.cc) takes it through the stages that a tokenizer has, and encode_ranks
// (pipeline/text_ranks.cc) gives what they leave to an Encoder, which EncoderPool lends to each thread. Its `encode_pieces`
// (encoder.cc) is the hot loop: find_ends (pieces.h) finds the next 256 pieces and hashes them, probe looks them up in a
// cache, look_up_missing asks the vocabulary for those that are not cached, merge (bpe/merging/merge.h) does those that are
// no token, and the ids are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/id_buffer.h"
#include "base/memory.h"
#include "bpe/merging/merge.h"
#include "bpe/vocabulary.h"
#include "patterns/splitting.h"
#include "tiktoken/piece_store.h"

namespace tokcli {

// What came of encoding, beside the ids.
struct Result {
  uint64_t count = 0;         // the number of ids
  bool missing_byte = false;  // a byte of the text is no token: the ids are not to be used
  bool left_out = false;      // the pattern does not split all of the text: the ids are not to be used
  // Adds what came of another text.
  void add(const Result& other) {
    count += other.count;
    missing_byte |= other.missing_byte;
    left_out |= other.left_out;
  }
  bool is_good() const { return !missing_byte && !left_out; }
};

// Encodes texts with one vocabulary. It holds caches of pieces and memory for a batch of them, and is for one thread at
// a time.
//
// Pieces are encoded in batches, and a batch goes through several rounds, each a short loop of its own: find where the
// pieces end and hash them, look into the cache, look up in the vocabulary what is missing there, merge what is no token,
// write the ids. So the memory system works on many cache lines at once. And a question whose answer is as good as
// random (is the piece cached? is it a token?) is no branch that would be mispredicted: the piece is written to the
// list of those that are missing in any case, and the list grows by one or by none.
class Encoder {
 public:
  explicit Encoder(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), cache_(kLines), table_(LineTable::of(&cache_[0], size_t{1} << kFirstLineBits)),
        batch_(std::make_unique<Batch>()), has_all_bytes_(vocabulary.has_all_bytes()) {}

  // Makes the pages of the caches now, once. To be called where much text follows, or other threads run: see
  // base/memory.h.
  void make_pages();

  // Appends the ids of a text (UTF-8) to `out`; only counts them where `out` is null.
  Result encode(const Splitting& by, Bytes text, IdBuffer* out);
  // Does so with a text (UTF-8) whose pieces end at known places, the last one at its end.
  // Appends the number of ids of each piece to `counts`, if that is given.
  Result encode_split(Bytes text, std::span<const uint64_t> ends, IdBuffer* out, std::vector<uint32_t>* counts = nullptr);
  // Does so with text among bytes that are not UTF-8, whose pieces end as split_invalid has them.
  Result encode_invalid(Bytes data, std::vector<uint64_t> ends, IdBuffer* out);
  Result encode_invalid(const Splitting& by, Bytes data, IdBuffer* out);
  // Appends the ids of one piece, which is not split; only counts them where `out` is null.
  Result encode_piece(Bytes piece, IdBuffer* out);

  // Says whether this encoder waits for a text; to be called with a BriefLock (see piece_store.h).
  void set_idle(bool is_idle) { store_.set_idle(is_idle); }

 private:
  // The ids of a piece, up to three of them. Of more, the first words are the address where they are: in the store, until it
  // forgets them, or in `more_`, for this batch.
  struct PieceIds {
    uint32_t ids[3];
    uint32_t count;
    const void* place() const {
      const void* place;
      std::memcpy(&place, ids, sizeof place);
      return place;
    }
    void set_place(const void* place) { std::memcpy(ids, &place, sizeof place); }
  };
  static_assert(sizeof(void*) <= sizeof PieceIds::ids);
  static constexpr uint32_t kMostIds = 3;
  // The cache of short pieces: a piece of at most 15 bytes and its ids, in half a cache line. Of more than three ids it has
  // the place in the store. (Profile: a second pass over Hebrew, Greek or Arabic takes four fifths of the time.)
  struct alignas(32) CachedPiece {
    Key key;
    PieceIds ids;
  };
  // Two thirds of the distinct pieces of a text occur once. So a new piece takes only the second place of its cache
  // line, and the first one when it is seen again: frequent pieces are not driven out by new ones.
  struct alignas(64) CacheLine {
    CachedPiece frequent, recent;
  };
  // The cache begins with 2 MB, and doubles to 4 MB where many pieces that it once had are looked up in the store: a text of
  // few words, or of ever new ones, is encoded sooner with a small one, for its pages have to be made. (Profile: a second pass
  // over 12 MB is then 1.08 times as fast, and a first one as fast.)
  static constexpr unsigned kFirstLineBits = 15, kLineBits = 16;
  static constexpr size_t kLines = size_t{1} << kLineBits;
  static_assert(sizeof(CacheLine) == LineTable::kLine && kLineBits <= LineTable::kMostBits);

  // Pieces are found until there are kBatch of them; the last window may add as many as it has bytes.
  static constexpr size_t kLongText = size_t{1} << 14;  // bytes, whose pieces use most pages of the caches
  static constexpr size_t kBatch = 256, kRoom = kBatch + kWindow;
  // Pieces of at least kLeastCut bytes are cut, in batches of at least kLongBatch; most batches have some 1300.
  static constexpr size_t kLeastCut = 512, kLongBatch = 4096;
  static constexpr unsigned kJobTagBits = 9;
  struct Batch {
    const uint8_t* starts[kRoom + 1];  // where each piece begins, and where the last one ends
    Key keys[kRoom];                   // kLongKey for pieces above 15 bytes
    void* lines[kRoom];                // the cache's lines where each piece is looked up
    uint64_t hashes[kRoom];            // of the pieces that are missing
    PieceIds ids[kRoom];
    uint32_t missing[kRoom], longer[kRoom];  // the numbers of pieces that are not in the cache; of them, those above 15 bytes
    uint32_t waiting[kRoom];                 // the numbers of pieces that are looked for in the store
    uint32_t tags[kRoom];                    // the tag of each of them
    PieceStore::Entry candidates[kRoom];     // what the store has with each of these tags
    MergeJob jobs[kRoom];
    uint32_t job_piece[kRoom];             // the number of each job's piece
    uint32_t job_of_tag[1 << kJobTagBits];         // the last job with a tag like this, perhaps of an earlier batch
    uint32_t twins[kRoom], twin_of[kRoom];  // pieces that are equal to one that is merged, and that one
  };


  template <class Find>
  void encode_pieces(const Find& find_ends, Bytes text, IdBuffer* out, Result& result,
                     std::vector<uint32_t>* counts = nullptr);
  PieceKeys piece_keys();
  bool encode_batch(size_t pieces, size_t hashed, const uint8_t* end, IdBuffer* out, Result& result,
                    std::vector<uint32_t>* counts);
  bool encode_cut(size_t pieces, const uint8_t* end, IdBuffer* out, Result& result);
  const uint8_t* cut_from(const uint8_t* p, const uint8_t* piece_end) const;
  const uint8_t* add_parts(const uint8_t* at, const uint8_t* piece_end, size_t* count);
  void hash_pieces(size_t from, size_t pieces, const uint8_t* end);
  void probe(size_t pieces);
  void look_up_missing();
  bool is_store_of_use();
  void look_up_longer();
  void look_up_stored();
  void add_new();
  bool join_spaces(Bytes data, std::vector<uint64_t>* ends);
  bool is_space(uint32_t id) const;
  PieceStore::Entry store(uint32_t piece, const uint8_t* p, size_t size, const uint32_t* ids, size_t count);
  void keep(const MergeJob& job, uint32_t piece);
  void add_job(uint32_t piece);
  bool drop_missing(MergeJob& job) const;
  void set_ids(uint32_t piece, const PieceStore::Entry& entry);
  CacheLine& line_of(uint32_t piece) { return *static_cast<CacheLine*>(batch_->lines[piece]); }
  void grow_cache();
  void forget_places();

  const Vocabulary& vocabulary_;
  ZeroedArray<CacheLine> cache_;
  LineTable table_;                                       // the part of the cache that is in use
  size_t found_again_ = 0;                                // pieces in the store, since the cache has grown
  PieceStore store_;
  size_t forgotten_ = 0;  // times that the store had forgotten all when the cache last led there
  // Of the first so many pieces that texts of words ask it for, the store has one in 7 to one in 40 (of 300 kB of mixed text,
  // which had the fewest); of random letters it has one in 200.
  static constexpr size_t kManyAsked = 8192, kLeastShare = 64;
  size_t asked_ = 0, found_ = 0, batches_ = 0;  // pieces that were looked for in the store, of late; batches without it
  bool is_store_of_use_ = true, uses_store_ = true;  // of late, and in this batch
  bool has_pages_ = false;
  std::unique_ptr<Batch> batch_;
  bool has_all_bytes_;  // each byte is a token
  size_t missing_ = 0, longer_ = 0, waiting_ = 0, jobs_ = 0, twins_ = 0;
  GrowingBuffer<uint32_t> more_;  // what merging writes: the ids of each job
  size_t more_used_ = 0;
  std::vector<const uint8_t*> long_ends_;  // where pieces end of which some are long
  MergeScratch scratch_;
  IdBuffer piece_ids_;
};

}  // namespace tokcli
