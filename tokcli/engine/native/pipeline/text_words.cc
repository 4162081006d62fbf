// From pieces to words and their ids: see text_model.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "pipeline/text_call.h"
#include "text/utf8.h"

namespace tokcli {

void TextModel::encode_words(Bytes piece, Call& call) const {
  if (piece.empty()) return;
  if (whole_first) {
    if (const uint32_t number = tokens.strings.find(piece.data(), piece.size()); number != kNone) {
      encode_waiting(call);
      call.sink.add(tokens.ids[number]);
      call.add_span(piece.data(), piece.data() + piece.size());
      return;
    }
  }
  const auto begins_word = [&](const uint8_t* at, const uint8_t* begin, const uint8_t* end) {
    return word_cut == WordCut::kAtSpaces ? view_of({at, end}).starts_with(space) : is_cut(at, begin, end);
  };
  const auto add = [&](Bytes part, Call& one) { add_words(part, one); };
  if (word_cut == WordCut::kNowhere || !in_parts(piece, call, begins_word, add)) add_words(piece, call);
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
  const uint8_t *p = piece.data(), *end = p + piece.size(), *begin = p;
  const auto add = [&](const uint8_t* first, const uint8_t* last, uint32_t single) {
    call.scratch.word.pace.step(static_cast<size_t>(last - first));
    auto& waiting = call.scratch.waiting[call.waiting++];
    waiting.word = {first, last};
    waiting.single = single;
    if (single == kNone && waiting.is_short()) {
      WordCache::make_key(waiting.word, call.end, waiting.key);
      call.scratch.cache.prefetch(waiting.key);
    }
    if (call.waiting == TextScratch::kMostWaiting) encode_waiting(call);
  };
  if (word_cut == WordCut::kAtSpaces) {
    for (const uint8_t* at; (at = find_near(begin + 1, end, space)) < end; begin = at) add(begin, at, kNone);
  }
  uint32_t last = kNone;
  if (word_cut == WordCut::kWherePossible) {
    const uint8_t* before = p;
    uint32_t left = next_char(p, end);
    while (p < end) {
      const uint8_t* at = p;
      const uint32_t right = next_char(p, end);
      if (!pairs.may_hold(left, right) &&
          (!cuts_before_known || tokens.strings.find(at, static_cast<size_t>(p - at)) != kNone)) {
        add(begin, at, begin == before ? left : kNone);
        begin = at;
      }
      before = at;
      left = right;
    }
    if (begin == before) last = left;
  }
  add(begin, end, last);
}

// Encodes the words that wait: called before an id after them is appended, and before their memory is used again.
void TextModel::encode_waiting(Call& call) const {
  const size_t count = std::exchange(call.waiting, 0);
  if (sums == Sums::kPerText32) return encode_sums<float>(count, call);
  if (sums == Sums::kPerText64) return encode_sums<double>(count, call);
  for (size_t i = 0; i < count; ++i) {
    if (call.spans == nullptr) encode_word(call.scratch.waiting[i], call);
    else place_word(call.scratch.waiting[i], call);
  }
}

void TextModel::encode_word(TextScratch::WaitingWord& waiting, Call& call) const {
  WordCache& cache = call.scratch.cache;
  if (waiting.single != kNone) {
    const auto& single = call.scratch.singles.place_of(waiting.single);
    if (single.c == waiting.single) return call.sink.add(single.id);
    WordCache::make_key(waiting.word, waiting.word.data() + waiting.word.size(), waiting.key);
  }
  if (const WordCache::Slot* slot = waiting.is_short() ? cache.find(waiting.key) : nullptr) {
    call.sink.add_of(slot->ids, slot->count());
    return;
  }
  if (!model->encode(waiting.word, call.scratch.word)) {
    call.needs.is_for_python = true;
    return;
  }
  const auto& found = call.scratch.word.ids;
  call.sink.add(found.data(), found.size());
  if (waiting.single != kNone && found.size() == 1)
    call.scratch.singles.place_of(waiting.single) = {0.0, waiting.single, found[0]};
  else if (waiting.is_short()) cache.keep(waiting.key, found, 0);
}

// Encodes a word with the places of its tokens. Those of a word in the cache are told by the sizes of its tokens, where
// these are the word; the model is asked about others.
void TextModel::place_word(TextScratch::WaitingWord& waiting, Call& call) const {
  const Bytes word = waiting.word;
  WordScratch& scratch = call.scratch.word;
  if (waiting.single != kNone) WordCache::make_key(word, word.data() + word.size(), waiting.key);
  const bool is_kept = waiting.is_short() && !tokens.sizes.empty();
  if (const WordCache::Slot* slot = is_kept ? call.scratch.cache.find(waiting.key) : nullptr) {
    const uint32_t prefix_size = models.which == Models::Used::kWordPiece ? models.word_piece.prefix_size() : 0;
    const size_t count = slot->count();
    std::array<uint32_t, WordCache::kMostIds> sizes;
    size_t total = 0;
    bool are_sizes = true;
    for (size_t i = 0; i < count; ++i) {
      sizes[i] = tokens.size_of(slot->ids[i]) - (i > 0 ? prefix_size : 0);
      are_sizes &= sizes[i] > 0 && sizes[i] <= word.size();
      total += sizes[i];
    }
    if (are_sizes && total == word.size()) return call.add_tokens(*slot, word.data(), sizes);
  }
  if (!model->encode(word, scratch) || scratch.places.size() != scratch.ids.size()) {
    call.needs.is_for_python = true;
    return;
  }
  for (size_t i = 0; i < scratch.ids.size(); ++i) {
    const auto [begin, end] = scratch.places[i];
    const bool is_byte = call.ends_at_next && i + 1 < scratch.ids.size() && scratch.places[i + 1].begin == begin;
    call.add(scratch.ids[i], word.data() + begin, word.data() + (is_byte ? begin : std::min<size_t>(end, word.size())));
  }
  if (is_kept) call.scratch.cache.keep(waiting.key, scratch.ids, 0);
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

// Unigram with sums through the whole text: what is before a word decides how sums in it are rounded, and so which of
// two paths that are almost equal is taken. Where the best path through a word is so much better than the second that
// no rounding can change it, its tokens are kept in the cache. The sum is added up token by token, as the reference
// does.
template <class Sum>
void TextModel::encode_sums(size_t count, Call& call) const {
  Sum sum = static_cast<Sum>(call.sum);
  for (size_t i = 0; i < count; ++i) {
    const auto& waiting = call.scratch.waiting[i];
    if (waiting.single != kNone && std::abs(sum) <= Unigram::most<Sum>) {
      auto& single = call.scratch.singles.place_of(waiting.single);
      if (single.c != waiting.single) find_single(waiting.word, waiting.single, single);
      sum = static_cast<Sum>(single.score) + sum;
      if (single.id != kNone) call.add(single.id, waiting.word.data(), waiting.word.data() + waiting.word.size());
      else add_unknown_word(waiting.word, call);
      continue;
    }
    const bool is_kept = waiting.single == kNone && waiting.is_short();
    const WordCache::Slot* slot = is_kept ? call.scratch.cache.find(waiting.key) : nullptr;
    if (slot == nullptr || !(std::abs(sum) <= static_cast<Sum>(slot->limit))) {
      call.sum = sum;
      search<Sum>(waiting, slot == nullptr && is_kept, call);
      sum = static_cast<Sum>(call.sum);
      continue;
    }
    for (size_t k = 0; k < slot->count(); ++k) sum = static_cast<Sum>(models.unigram.score(slot->ids[k])) + sum;
    add_tokens(waiting.word, slot->ids, slot->count(), call);
  }
  call.sum = sum;
}

// Searches for the best path through a word. `keeps`: puts it into the cache, if the path is the same for all smaller
// sums before the word.
template <class Sum>
void TextModel::search(const TextScratch::WaitingWord& waiting, bool keeps, Call& call) const {
  WordScratch& scratch = call.scratch.word;
  const double before = std::abs(call.sum);
  double limit = 0;
  call.sum = models.unigram.search(waiting.word, static_cast<Sum>(call.sum), scratch, keeps ? &limit : nullptr);
  models.unigram.tokens(waiting.word, scratch);
  add_tokens(waiting.word, scratch.ids.data(), scratch.ids.size(), call);
  limit *= 0.999;  // it is rounded to a float below
  if (keeps && before <= limit) call.scratch.cache.keep(waiting.key, scratch.ids, static_cast<float>(limit));
}

void TextModel::add_tokens(Bytes word, const uint32_t* numbers, size_t count, Call& call) const {
  size_t known = 0, at = 0;  // the first `known` tokens are the first `at` bytes
  for (size_t i = 0; i < count; ++i) {
    if (numbers[i] != kUnknownToken) [[likely]] {
      if (call.spans == nullptr) {
        call.sink.add(tokens.ids[numbers[i]]);
        continue;
      }
      const size_t size = tokens.strings[numbers[i]].size();
      if (size > word.size() - at) return;  // (such an image as below)
      call.add(tokens.ids[numbers[i]], word.data() + at, word.data() + at + size);
      at += size;
      known = i + 1;
      continue;
    }
    for (; known < i; ++known) at += tokens.strings[numbers[known]].size();
    if (at >= word.size()) return;  // (an image whose strings are not those of its trie)
    const size_t size = std::min(utf8_size(word[at]), word.size() - at);
    add_unknown_word(word.subspan(at, size), call);
    at += size;
    known = i + 1;
  }
}

void TextModel::find_single(Bytes word, uint32_t c, SingleChars::Single& single) const {
  uint32_t number = kNone;
  if (tokens.trie.longest(word.data(), word.data() + word.size(), &number) != word.size()) number = kNone;
  single = {models.unigram.score(number == kNone ? kUnknownToken : number), c,
            number == kNone ? kNone : tokens.ids[number]};
}

void TextModel::add_unknown_word(Bytes word, Call& call) const {
  const uint8_t *const first = word.data(), *const last = first + word.size();
  if (!unknown.to_bytes && unknown.id != kNone) return call.add(unknown.id, first, last);
  std::vector<uint32_t>& found = call.scratch.unknown;
  found.clear();
  call.needs.is_for_python |= !add_unknown(unknown, word, found);
  for (size_t i = 0; i < found.size(); ++i) call.add(found[i], first, i + 1 < found.size() ? first : last);
}

}  // namespace tokcli
