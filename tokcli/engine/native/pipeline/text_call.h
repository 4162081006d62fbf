// One call of TextModel::encode, and how threads share it: for the files of TextModel (text_*.cc) alone.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "pipeline/parts_in_order.h"
#include "pipeline/text_model.h"
#include "stages/growth_limit.h"
#include "text/char_place.h"
#include "text/utf8.h"

namespace tokcli {

// One call of encode.
struct TextModel::Call {
  TextWorker& worker;
  TextScratch& scratch;  // of the worker
  IdSink sink;
  Refusal& refusal;
  GrowthLimit limit;             // of normalized text
  void refuse() { refusal.add({true}); }
  // Refuses a text of which the normalizer makes too much.
  void refuse_growth() { refusal.add({true, limit.most()}); }
  // Counts normalized characters.
  void add_made(uint64_t chars) {
    made += chars;
    if (limit.is_above(made)) refuse_growth();
  }
  size_t threads;                // that may share the work
  uint64_t made = 0;             // characters of normalized text so far, where the limit counts
  Ends ends{};                   // whether the text is the beginning and the end of what is encoded
  double sum = 0;                // the scores so far, for sums through the whole text
  FoundWords* found = nullptr;   // of a part of the text before which the sum is not known yet: its words
  size_t waiting = 0;            // the number of words that wait
  const uint8_t* end = nullptr;  // the end of the memory that the waiting words are in
  // Where places are kept: the spans so far, the text as given and what counts its characters, and the text that is being
  // cut into words, in which each character has an origin in the text as given.
  Spans* spans = nullptr;
  Bytes raw{};
  CharSpans chars{};
  const uint8_t* begin = nullptr;
  const Origins* origins = nullptr;
  OriginReader reader{};
  // Where pieces are written with their metaspaces before they are cut: how, and the text that they come from.
  std::optional<Tracking> writing{};
  const uint8_t* written_from = nullptr;
  bool has_spaces = true;  // whether pieces may have spaces, which become metaspaces, or metaspaces
  // SentencePiece: a span ends where what comes next begins, and of a character's bytes only the last has one.
  bool ends_at_next = false;
  // Whether the ends of pieces are wanted, which then are what `spans` gets, and no ids.
  bool splits = false;
  // For ranks: see Task.
  IdBuffer* blanks = nullptr;
  const EncoderPool::TakeIds* take = nullptr;

  // Says where the spans go that a part of the text gets; null: places are not kept.
  void track(Spans* to, Bytes text, Bytes part) {
    constexpr size_t kFew = 1 << 20;  // numbers: longer texts let the room grow
    spans = to;
    raw = text;
    chars = CharSpans(text);
    // a token of two bytes or more is usual (profile: growing from nothing took a tenth of the time)
    if (spans != nullptr) spans->reserve(std::min(part.size(), kFew));
    scratch.word.wants_places = spans != nullptr;
  }
  void cut_from(const uint8_t* text, const Origins& of) {
    begin = text;
    origins = &of;
    reader = OriginReader(of);
  }
  // Pieces of the text that is being cut will be written anew, to scratch.piece: their origins go to scratch.piece_origins.
  void write_pieces() {
    writing.emplace(*origins, scratch.piece_origins);
    written_from = begin;
  }
  // Returns what keeps the origins of a piece that is written; null where places are not kept.
  Tracking* begin_piece(Bytes piece) {
    if (!writing) return nullptr;
    writing->read_from(static_cast<size_t>(piece.data() - written_from));
    return &*writing;
  }
  // Adds an id, and the span of the characters from `first` up to `last` in the text that is cut. An id that is one with
  // the last id (SentencePiece's unknown text) makes its span longer.
  void add(uint32_t id, const uint8_t* first, const uint8_t* last) {
    if (spans != nullptr && sink.joins(id)) {
      spans->data()[spans->size() - 1] = chars.end_at(reader.origin(static_cast<size_t>(last - begin)));
      return;
    }
    sink.add(id);
    add_span(first, last);
  }
  // Adds with how many spaces a token begins and ends.
  void add_blanks(size_t left, size_t right) {
    if (blanks == nullptr) return;
    uint32_t* const to = blanks->reserve(2);
    to[0] = static_cast<uint32_t>(left);
    to[1] = static_cast<uint32_t>(right);
    blanks->commit(2);
  }
  // Adds the span of the characters from `first` up to `last` in the text that is cut.
  void add_span(const uint8_t* first, const uint8_t* last) {
    if (spans == nullptr || (first >= last && !ends_at_next)) return;
    if (splits) return add_end(end_of(first, last));
    write_span(first, last, spans->reserve(2));
    spans->commit(2);
  }
  // Adds the tokens of a word at `first` in the text that is cut, where places are kept; each is of one byte or more.
  void add_tokens(const WordCache::Slot& slot, const uint8_t* first, const std::array<uint32_t, WordCache::kMostIds>& sizes) {
    const size_t count = slot.count();
    if (sink.joins_any()) {
      for (size_t i = 0; i < count; first += sizes[i++]) add(slot.ids[i], first, first + sizes[i]);
      return;
    }
    sink.add_of(slot.ids, count);
    uint64_t* to = spans->reserve(2 * count);
    for (size_t i = 0; i < count; first += sizes[i++], to += 2) write_span(first, first + sizes[i], to);
    spans->commit(2 * count);
  }
  // Adds the span of a part of the text as given.
  void add_place(Bytes part) {
    if (spans == nullptr) return;
    const auto at = static_cast<size_t>(part.data() - raw.data());
    if (splits) return add_end(at + part.size());
    put_span(at, at + part.size(), spans->reserve(2));
    spans->commit(2);
  }
  // Writes the span of the characters from `first` up to `last` in the text that is cut.
  void write_span(const uint8_t* first, const uint8_t* last, uint64_t* to) {
    const size_t start = origin_of(first);
    if (ends_at_next) return put_span(start, first == last ? start : origin_of(last), to);
    put_span(start, end_of(first, last), to);
  }
  // Returns the byte of the text as given at which the last character before `last` ends.
  size_t end_of(const uint8_t* first, const uint8_t* last) {
    const size_t begin = origin_of(previous_char(last, first));
    return begin < raw.size() ? begin + utf8_size(raw[begin]) : begin;
  }
  // Adds the end of a piece, unless it is that of the one before.
  void add_end(size_t end) {
    if (spans->size() > 0 && end <= spans->data()[spans->size() - 1]) return;
    *spans->reserve(1) = end;
    spans->commit(1);
  }
  // Writes the span of the characters in some bytes of the text as given.
  void put_span(size_t from, size_t up_to, uint64_t* to) {
    to[0] = from;
    to[1] = up_to;
    chars.to_chars(to);
  }
  // Returns the byte of the text as given that a place in the text that is cut stands for; where none is cut yet, a place
  // in the text as given.
  size_t origin_of(const uint8_t* at) {
    return origins == nullptr ? static_cast<size_t>(at - raw.data()) : reader.origin(static_cast<size_t>(at - begin));
  }
};

// Lets a word wait to be encoded.
[[gnu::always_inline]] inline void TextModel::add_word(Bytes word, uint32_t single, Call& call) const {
  auto& waiting = call.scratch.waiting[call.waiting++];
  waiting.word = word;
  waiting.single = single;
  if (single == kNone && waiting.is_short()) {
    WordCache::make_key(waiting.word, call.end, waiting.key);
    call.scratch.cache.prefetch(waiting.key);
  }
  if (call.waiting == TextScratch::kMostWaiting) encode_waiting(call);
}

// The bytes of a part of a text: its forms and its ids are in the processor's cache while it is worked on.
constexpr size_t kPartBytes = size_t{1} << 17;
// The same where sums go through the whole text: what is found takes six times as much memory, until the parts before are done.
constexpr size_t kSumPartBytes = size_t{1} << 15;

// Cuts a text into parts of `size` bytes and those up to the next place where it may be cut: where `is_cut(at, begin, end)`
// says of a character that it and what is before it can be encoded on their own.
template <class IsCut>
std::vector<Bytes> parts_of(Bytes text, size_t size, const IsCut& is_cut) {
  const uint8_t *const begin = text.data(), *const end = begin + text.size(), *from = begin;
  std::vector<Bytes> parts;
  Pace pace;
  while (from < end) {
    const uint8_t* at = static_cast<size_t>(end - from) > size ? from + size : end;
    for (; at < end && (!begins_char(*at) || !is_cut(at, begin, end)); ++at) pace.step(1);
    parts.push_back({from, at});
    from = at;
  }
  return parts;
}

// The words of a part of a text, as they are found before the sum of the scores before them is known (text_sums.cc). Their ids
// are those that the part has made.
struct TextModel::FoundWords {
  // How many bytes, tokens and ids a word has, and the largest sum before it for which these are its tokens (below 0: none).
  struct Word {
    uint32_t size;
    uint16_t tokens, ids;  // none of a long word
    float limit;
  };
  // The same of a row of words.
  struct Row {
    size_t words = 0, size = 0, tokens = 0, ids = 0;
    float limit = 0;
    void add(const Word& word) {
      limit = words == 0 ? word.limit : std::min(limit, word.limit);
      ++words;
      size += word.size;
      tokens += word.tokens;
      ids += word.ids;
    }
  };
  static constexpr size_t kRow = 32;  // words of a row; the last one may have fewer
  GrowingBuffer<uint8_t> text;        // of all words
  GrowingBuffer<Word> words;
  GrowingBuffer<double> scores;  // of all tokens
  std::vector<Row> rows;
  void add(const Word& word) {
    if (rows.empty() || rows.back().words == kRow) rows.emplace_back();
    rows.back().add(word);
    *words.reserve(1) = word;
    words.commit(1);
  }
  void clear() {
    text.clear();
    words.clear();
    scores.clear();
    rows.clear();
  }
};

// Returns whether parts of a text can be encoded at the same time: none needs to know what is before it.
inline bool TextModel::may_share(const Call& call) const {
  return sums == Sums::kPerWord && (call.spans == nullptr || !joins_unknown);
}

// What is made of a part of a text that is encoded by itself.
struct alignas(kCacheLine) TextModel::Made {
  CharSpans chars;  // where places are kept: what counts the characters of the text from the part on
  IdBuffer ids;
  size_t count = 0;
  uint64_t made = 0;  // characters of normalized text
  Refusal refusal;
  Spans spans;
  IdBuffer blanks;
  FoundWords found;  // where sums go through the whole text
  // Is ready for another part, without places, in the same memory.
  void clear() {
    ids.clear();
    count = made = 0;
    refusal = {};
    found.clear();
  }
};

// Encodes a part of the text of a call by itself.
template <class Encode>
void TextModel::encode_apart(Bytes text, const Call& call, bool keeps_ids, TextWorker& worker, Made& made,
                             const Encode& encode) const {
  TextScratch& scratch = *worker.scratch;
  Call part{worker, scratch, IdSink(keeps_ids ? &made.ids : nullptr, kNone), made.refusal, call.limit, 1};
  part.end = call.end;
  if (sums != Sums::kPerWord) part.found = &made.found;
  part.track(call.spans == nullptr ? nullptr : &made.spans, call.raw, text);
  part.chars = made.chars;
  if (call.blanks != nullptr) part.blanks = &made.blanks;
  if (model != nullptr) scratch.cache.expect_text(text.size());
  part.ends_at_next = call.ends_at_next;
  part.splits = call.splits;
  if (call.spans != nullptr && call.origins != nullptr) part.cut_from(call.begin, *call.origins);
  encode(text, part);
  encode_waiting(part);
  made.count = part.sink.count();
  made.made = part.made;
  scratch.trim(text.size());
}

// Lets threads share the work on a long text, or piece of one: `encode(part, call)` is called for the parts that parts_of
// makes, whose ids are appended in order. Each thread takes the next part when it has done one. Returns false, and does
// nothing, for a text that is not worth it.
template <class IsCut, class Encode>
bool TextModel::in_parts(Bytes text, Call& call, const IsCut& is_cut, const Encode& encode) const {
  const size_t most_threads = text.size() / (call.spans == nullptr ? 2 * kPartBytes : kPartBytes);  // places are more work
  const size_t threads = std::min(call.threads, most_threads);  // each learns the words of the text anew
  if (threads < 2 || !may_share(call)) return false;
  const std::vector<Bytes> parts = parts_of(text, kPartBytes, is_cut);
  if (parts.size() < 2) return false;
  encode_waiting(call);
  std::vector<Made> made(parts.size());
  for (size_t i = 0; call.spans != nullptr && i < parts.size(); ++i) {
    call.chars.begin_at(call.origin_of(parts[i].data()));
    made[i].chars = call.chars;
  }
  std::atomic<size_t> next{0};
  const bool keeps_ids = call.sink.keeps_ids() || joins_unknown;  // (ids are joined across parts, too)
  in_threads(std::min(threads, parts.size()), [&](size_t) {
    TextWorker worker(call.worker.pool);
    for (size_t i; (i = next++) < parts.size();) encode_apart(parts[i], call, keeps_ids, worker, made[i], encode);
  });
  for (const Made& part : made) {
    if (keeps_ids) call.sink.add(part.ids.data(), part.ids.size());
    else call.sink.add_count(part.count);
    call.refusal.add(part.refusal);
    call.add_made(part.made);
    if (call.spans != nullptr) call.spans->append(part.spans);
    if (call.blanks != nullptr) call.blanks->append(part.blanks);
  }
  return true;
}

// Lets threads share the work on a text whose sums go through all of it. Each finds the words of the next part; whoever is done
// when the parts before are added up adds its own, and those after it that wait for it. Nobody ever waits. Returns how many
// parts are done: none where there is not enough to share, or where places are kept.
template <class Encode>
size_t TextModel::share_sums(const std::vector<Bytes>& parts, Call& call, const Encode& encode) const {
  // As a rule few parts wait for those before them; of so many, all may.
  constexpr size_t kPartsAtOnce = (size_t{1} << 24) / kSumPartBytes;
  const size_t threads = std::min(call.threads, parts.size() / 2);
  if (sums == Sums::kPerWord || threads < 2 || call.spans != nullptr) return 0;
  encode_waiting(call);
  const bool keeps_ids = call.sink.keeps_ids() || joins_unknown;
  size_t done = 0;
  while (done < parts.size() && !call.refusal.is_refused) {
    const size_t count = std::min(kPartsAtOnce, parts.size() - done);
    PartsInOrder<Made> made(count);
    const auto add = [&](const Made& part) {
      call.refusal.add(part.refusal);
      call.add_made(part.made);
      if (!call.refusal.is_refused) add_found(part, call);
    };
    std::atomic<size_t> next{0};
    in_threads(std::min(threads, count), [&](size_t) {
      TextWorker worker(call.worker.pool);
      worker.scratch->cache.expect_text(count * kSumPartBytes / threads);
      for (size_t i; (i = next++) < count;) {
        std::unique_ptr<Made> part = made.place();
        part->clear();
        encode_apart(parts[done + i], call, keeps_ids, worker, *part, encode);
        made.put(i, std::move(part), add);
      }
    });
    made.use_parts(add);
    done += count;
  }
  return done;
}

}  // namespace tokcli
