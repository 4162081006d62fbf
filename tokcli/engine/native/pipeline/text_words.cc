// From pieces to words and their ids: see text_model.h.
#include <algorithm>
#include <array>
#include <utility>

#include "pipeline/text_call.h"
#include "text/utf8.h"

namespace tokcli {

namespace {

bool is_newlines(Bytes piece) {
  return std::all_of(piece.begin(), piece.end(), [](uint8_t byte) { return byte == '\n'; });
}

}  // namespace

void TextModel::encode_words(Bytes piece, Call& call) const {
  if (piece.empty()) return;
  if (call.splits) return call.add_span(piece.data(), piece.data() + piece.size());
  if (whole_first == WholeFirst::kAlways || (whole_first == WholeFirst::kLines && is_newlines(piece))) {
    if (const uint32_t number = tokens.strings.find(piece.data(), piece.size()); number != kNone) {
      encode_waiting(call);
      call.sink.add(tokens.ids[number]);
      call.add_span(piece.data(), piece.data() + piece.size());
      return;
    }
  }
  if (piece.size() < 2 * kPartBytes || word_cut == WordCut::kNowhere) return add_words(piece, call);
  const auto begins_word = [&](const uint8_t* at, const uint8_t* begin, const uint8_t* end) {
    return word_cut == WordCut::kAtSpaces ? view_of({at, end}).starts_with(space) : is_cut(at, begin, end);
  };
  const auto add = [&](Bytes part, Call& one) { add_words(part, one); };
  if (!in_parts(piece, call, begins_word, add)) add_words(piece, call);
}

// Returns whether no token crosses the place before a character, and a word may be cut there.
bool TextModel::is_cut(const uint8_t* at, const uint8_t* begin, const uint8_t* end) const {
  const uint8_t *before = previous_char(at, begin), *after = at;
  const uint32_t left = next_char(before, end), right = next_char(after, end);
  return !pairs.may_hold(left, right) &&
         (!cuts_before_known || tokens.strings.find(at, static_cast<size_t>(after - at)) != kNone);
}

// Cuts a part of a piece into words, which wait to be encoded.
void TextModel::add_words(Bytes piece, Call& call) const {
  if (word_cut == WordCut::kWherePossible) return add_words_cut(piece, call);
  const uint8_t *const end = piece.data() + piece.size(), *begin = piece.data();
  while (begin < end) {
    const uint8_t* const at = word_cut == WordCut::kAtSpaces ? find_near(begin + 1, end, space) : end;
    call.scratch.word.pace.step(static_cast<size_t>(at - begin));
    add_word({begin, at}, kNone, call);
    begin = at;
  }
}

// Does so wherever no token crosses.
void TextModel::add_words_cut(Bytes piece, Call& call) const {
  const uint8_t *p = piece.data(), *const end = p + piece.size(), *begin = p, *before = p;
  uint32_t left = next_char(p, end);
  while (true) {
    const uint8_t* const at = p;
    uint32_t right = kNone;
    if (p < end) {
      right = *p < 128 ? *p++ : next_char(p, end);
      if (pairs.may_hold(left, right) ||
          (cuts_before_known && tokens.strings.find(at, static_cast<size_t>(p - at)) == kNone)) {
        before = at;
        left = right;
        continue;
      }
    }
    call.scratch.word.pace.step(static_cast<size_t>(at - begin));
    add_word({begin, at}, begin == before ? left : kNone, call);
    if (right == kNone) return;
    begin = before = at;
    left = right;
  }
}

// Encodes the words that wait: called before an id after them is appended, and before their memory is used again.
void TextModel::encode_waiting(Call& call) const {
  const size_t count = std::exchange(call.waiting, 0);
  if (sums != Sums::kPerWord) return encode_sums(count, call);
  for (size_t i = 0; i < count; ++i) {
    if (call.spans == nullptr) encode_word(call.scratch.waiting[i], call);
    else place_word(call.scratch.waiting[i], call);
  }
}

void TextModel::encode_word(TextScratch::WaitingWord& waiting, Call& call) const {
  WordCache& cache = call.scratch.cache;
  if (waiting.single != kNone) {
    const auto& single = call.scratch.singles.place_of(waiting.single);
    if (single.c == waiting.single) return call.sink.add(single.token);
    WordCache::make_key(waiting.word, waiting.word.data() + waiting.word.size(), waiting.key);
  }
  if (const WordCache::Slot* slot = waiting.is_short() ? cache.find(waiting.key) : nullptr) {
    call.sink.add_of(slot->ids, slot->count());
    return;
  }
  if (!model->encode(waiting.word, call.scratch.word)) {
    call.refuse();
    return;
  }
  const auto& found = call.scratch.word.ids;
  call.sink.add(found.data(), found.size());
  if (waiting.single != kNone && found.size() == 1)
    call.scratch.singles.place_of(waiting.single) = {waiting.single, found[0]};
  else if (waiting.is_short()) cache.keep(waiting.key, found, 0);
}

// Encodes a word with the places of its tokens. For a word in the cache, the sizes of its tokens tell them, where they did so
// when the model was asked. (That the sizes add up to the word is not enough: a token may stand for less than its text.)
void TextModel::place_word(TextScratch::WaitingWord& waiting, Call& call) const {
  const Bytes word = waiting.word;
  WordScratch& scratch = call.scratch.word;
  if (waiting.single != kNone) WordCache::make_key(word, word.data() + word.size(), waiting.key);
  const bool is_kept = waiting.is_short() && !tokens.sizes.empty();
  WordCache::Slot* slot = is_kept ? call.scratch.cache.find(waiting.key) : nullptr;
  if (slot != nullptr && slot->limit == WordCache::kSizesTell) {
    std::array<uint32_t, WordCache::kMostIds> sizes;
    for (size_t i = 0; i < slot->count(); ++i) sizes[i] = size_in_word(slot->ids[i], i);
    return call.add_tokens(*slot, word.data(), sizes);
  }
  if (!model->encode(word, scratch) || scratch.places.size() != scratch.ids.size()) {
    call.refuse();
    return;
  }
  for (size_t i = 0; i < scratch.ids.size(); ++i) {
    const auto [begin, end] = scratch.places[i];
    const bool is_byte = call.ends_at_next && i + 1 < scratch.ids.size() && scratch.places[i + 1].begin == begin;
    call.add(scratch.ids[i], word.data() + begin, word.data() + (is_byte ? begin : std::min<size_t>(end, word.size())));
  }
  const float limit = sizes_tell_places(word.size(), scratch) ? WordCache::kSizesTell : 0;
  if (slot != nullptr) slot->limit = limit;
  else if (is_kept) call.scratch.cache.keep(waiting.key, scratch.ids, limit);
}

// Returns the size in a word of the token at a place in it, as its text tells.
uint32_t TextModel::size_in_word(uint32_t id, size_t at) const {
  const bool continues = at > 0 && models.which == Models::Used::kWordPiece;
  return tokens.size_of(id) - (continues ? models.word_piece.prefix_size() : 0);
}

// Returns whether each token of a word begins where the one before it ends, by the size of its text, and all are the word.
bool TextModel::sizes_tell_places(size_t size, const WordScratch& scratch) const {
  size_t end = 0;
  for (size_t i = 0; i < scratch.ids.size(); ++i) {
    const auto [begin, last] = scratch.places[i];
    if (begin != end || last <= begin || size_in_word(scratch.ids[i], i) != last - begin) return false;
    end = last;
  }
  return end == size;
}

bool TextModel::has_space_rules() const {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.kind == Step::Kind::kSpaces; });
}

// Returns whether the places of tokens are known: those of tokenizer.json's models, and of SentencePiece's, which have
// rules for spaces and nothing else. llama.cpp's are told by the bytes of tokens.
bool TextModel::knows_places() const {
  if (has_space_rules()) return steps.size() == 1 && !spaces.is_llama && !has_classes && !has_metaspace;
  return sums == Sums::kPerWord && !joins_unknown && !prefixes_blindly && models.which != Models::Used::kPieces;
}

// Returns whether pieces of the text are what its splitters make of it: those of tokenizer.json's pipelines.
bool TextModel::knows_pieces() const { return !has_space_rules() && knows_places(); }

}  // namespace tokcli
