// Unigram with sums through the whole text, as SentencePiece has them: see text_model.h.
//
// What is before a word decides how sums in it are rounded, and so which of two paths that are almost equal is taken. Where
// the best path through a word is so much better than the second that no rounding can change it, its tokens hold for all
// sums before it up to a limit: the cache keeps them with this limit, and threads can find the words of a long text before
// the sums are known. The sum itself is added up token by token, from the first to the last, as the reference does.
#include <cmath>
#include <cstring>

#include "pipeline/text_call.h"
#include "text/utf8.h"

namespace tokcli {

void TextModel::encode_sums(size_t count, Call& call) const {
  const bool is_single = sums == Sums::kPerText32;
  if (call.found != nullptr) return is_single ? find_words<float>(count, call) : find_words<double>(count, call);
  return is_single ? sum_words<float>(count, call) : sum_words<double>(count, call);
}

void TextModel::add_found(const Made& made, Call& call) const {
  return sums == Sums::kPerText32 ? add_found_words<float>(made, call) : add_found_words<double>(made, call);
}

template <class Sum>
void TextModel::sum_words(size_t count, Call& call) const {
  Sum sum = static_cast<Sum>(call.sum);
  for (size_t i = 0; i < count; ++i) {
    const auto& waiting = call.scratch.waiting[i];
    if (waiting.single != kNone &&
        sum_tokens(waiting.word, &token_of(waiting, call), 1, Unigram::most<Sum>, sum, call))
      continue;
    const bool is_kept = waiting.single == kNone && waiting.is_short();
    const WordCache::Slot* slot = is_kept ? call.scratch.cache.find(waiting.key) : nullptr;
    if (slot != nullptr &&
        sum_tokens(waiting.word, slot->ids, slot->count(), static_cast<Sum>(slot->limit), sum, call))
      continue;
    sum = search(waiting, sum, slot == nullptr && is_kept, call).sum;
    add_tokens(waiting.word, call.scratch.word.ids.data(), call.scratch.word.ids.size(), call);
  }
  call.sum = sum;
}

// Finds what holds for words whatever the sum before them is.
template <class Sum>
void TextModel::find_words(size_t count, Call& call) const {
  FoundWords& found = *call.found;
  const uint8_t* text_begin = count == 0 ? nullptr : call.scratch.waiting[0].word.data();
  const uint8_t* text_end = text_begin;  // words follow each other in memory, as a rule
  const auto add_text = [&] {
    const auto size = static_cast<size_t>(text_end - text_begin);
    std::memcpy(found.text.reserve(size), text_begin, size);
    found.text.commit(size);
  };
  const auto add = [&](Bytes word, const uint32_t* numbers, size_t size, float limit) {
    if (word.data() != text_end) {
      add_text();
      text_begin = word.data();
    }
    text_end = word.data() + word.size();
    double* const scores = found.scores.reserve(size);
    for (size_t i = 0; i < size; ++i) scores[i] = models.unigram.score(numbers[i]);
    found.scores.commit(size);
    const size_t ids_before = call.sink.count();
    add_tokens(word, numbers, size, call);
    const size_t ids = call.sink.count() - ids_before;
    found.add({static_cast<uint32_t>(word.size()), static_cast<uint16_t>(size), static_cast<uint16_t>(ids), limit});
  };
  for (size_t i = 0; i < count; ++i) {
    const auto& waiting = call.scratch.waiting[i];
    if (waiting.single != kNone) {
      add(waiting.word, &token_of(waiting, call), 1, static_cast<float>(Unigram::most<Sum>));
    } else if (!waiting.is_short()) {
      add(waiting.word, nullptr, 0, -1);  // searched once, when the sum is known
    } else if (const WordCache::Slot* slot = call.scratch.cache.find(waiting.key)) {
      add(waiting.word, slot->ids, slot->count(), slot->limit);
    } else {
      const float limit = search(waiting, Sum{0}, true, call).limit;
      add(waiting.word, call.scratch.word.ids.data(), call.scratch.word.ids.size(), limit);
    }
  }
  if (text_begin != nullptr) add_text();
}

// Adds words that were found before, row by row. Where no token has a score above 0, sums only become larger, and a row of
// whose words each holds for the sum after it needs no more than that sum. In other rows each word is looked at; those for
// which the sum before them is too large are searched with it.
template <class Sum>
void TextModel::add_found_words(const Made& made, Call& call) const {
  Sum sum = static_cast<Sum>(call.sum);
  const FoundWords& found = made.found;
  const FoundWords::Word* word = found.words.data();
  const uint8_t* text = found.text.data();
  const double* scores = found.scores.data();
  const auto sum_after = [](Sum before, const double* all, size_t count) {
    for (size_t i = 0; i < count; ++i) before = static_cast<Sum>(all[i]) + before;
    return before;
  };
  size_t ids = 0, known = 0;  // of the ids that were made: up to the next word, and those that are added
  const auto add_known = [&] {
    if (call.sink.keeps_ids() || joins_unknown) call.sink.add(made.ids.data() + known, ids - known);
    else call.sink.add_count(ids - known);
    known = ids;
  };
  for (const FoundWords::Row& row : found.rows) {
    call.scratch.word.pace.step(row.size);
    const Sum after = sum_after(sum, scores, row.tokens);
    if (models.unigram.only_falls() && sum <= 0 && -after <= static_cast<Sum>(row.limit)) [[likely]] {
      sum = after;
      word += row.words;
      text += row.size;
      scores += row.tokens;
      ids += row.ids;
      continue;
    }
    for (const FoundWords::Word* const end = word + row.words; word < end; ++word) {
      if (std::abs(sum) <= static_cast<Sum>(word->limit)) {
        sum = sum_after(sum, scores, word->tokens);
        ids += word->ids;
      } else {
        add_known();
        ids = known += word->ids;
        const Bytes bytes{text, word->size};
        sum = search({bytes, kNone, {}}, sum, false, call).sum;
        add_tokens(bytes, call.scratch.word.ids.data(), call.scratch.word.ids.size(), call);
      }
      text += word->size;
      scores += word->tokens;
    }
  }
  add_known();
  call.sum = sum;
}

// Adds the tokens of a word that hold for sums before it up to `limit`, and their scores to the sum. Returns false, and adds
// none, where the sum is larger.
template <class Sum>
bool TextModel::sum_tokens(Bytes word, const uint32_t* numbers, size_t count, Sum limit, Sum& sum, Call& call) const {
  if (!(std::abs(sum) <= limit)) return false;
  for (size_t i = 0; i < count; ++i) sum = static_cast<Sum>(models.unigram.score(numbers[i])) + sum;
  add_tokens(word, numbers, count, call);
  return true;
}

// Searches for the best path through a word, whose tokens are then in scratch.word.ids. Returns the sum after it and, with
// `keeps`, the largest sum before it for which the path is the same (below 0: there is none); puts it into the cache, if it
// is the same for all smaller ones.
template <class Sum>
TextModel::Searched<Sum> TextModel::search(const TextScratch::WaitingWord& waiting, Sum sum, bool keeps, Call& call) const {
  WordScratch& scratch = call.scratch.word;
  float limit = -1;
  Sum after;
  if (const uint32_t token = models.unigram.whole(waiting.word, std::abs(double{sum})); token != kNone) {
    scratch.ids.assign(1, token);
    after = static_cast<Sum>(models.unigram.score(token)) + sum;
    limit = models.unigram.whole_up_to(token);
  } else {
    after = models.unigram.search(waiting.word, sum, scratch, keeps ? &limit : nullptr);
    models.unigram.tokens(waiting.word, scratch);
  }
  if (keeps && std::abs(double{sum}) <= double{limit}) call.scratch.cache.keep(waiting.key, scratch.ids, limit);
  return {after, limit};
}

// Returns the number of the token that a word of one character is, kUnknownToken where it is none.
const uint32_t& TextModel::token_of(const TextScratch::WaitingWord& waiting, Call& call) const {
  auto& single = call.scratch.singles.place_of(waiting.single);
  if (single.c != waiting.single) {
    const Bytes word = waiting.word;
    uint32_t number = kNone;
    if (tokens.trie.longest(word.data(), word.data() + word.size(), &number) != word.size()) number = kUnknownToken;
    single = {waiting.single, number};
  }
  return single.token;
}

// Adds tokens of a word, given by their numbers.
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

void TextModel::add_unknown_word(Bytes word, Call& call) const {
  const uint8_t *const first = word.data(), *const last = first + word.size();
  if (!unknown.to_bytes && unknown.id != kNone) return call.add(unknown.id, first, last);
  std::vector<uint32_t>& found = call.scratch.unknown;
  found.clear();
  if (!add_unknown(unknown, word, found)) call.refuse();
  for (size_t i = 0; i < found.size(); ++i) call.add(found[i], first, i + 1 < found.size() ? first : last);
}

}  // namespace tokcli
