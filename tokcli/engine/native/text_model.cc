#include "text_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tokcli {

struct TextModel::Call {
  TextScratch& scratch;
  IdSink sink;
  Needs& needs;
  double sum = 0;  // of the scores so far (Unigram)
  size_t waiting = 0;  // words in the scratch, to be encoded
  const uint8_t* end = nullptr;  // of the memory that they stand in
};

void TextModel::encode(Bytes text, Bytes raw_states, Bytes normalized_states, TextScratch& scratch, IdBuffer* out,
                       Needs& needs) const {
  Call call{scratch, IdSink(out, joins_unknown ? unknown.id : kNothing), needs};
  if (raw.tokens.empty()) {
    if (!text.empty()) encode_segment(text, true, normalized_states, call);
    return;
  }
  bool is_first = true;
  find_added(raw, raw_states, text, call, [&](Bytes segment, uint32_t id) {
    if (id != kNothing) call.sink.add(id);
    else encode_segment(segment, is_first, normalized_states, call);
    is_first = false;
  });
}

// Calls visit(part, id or kNothing) for the added tokens in a text, and what stands between them.
template <class Visit>
void TextModel::find_added(const AddedTokens& added, Bytes states, Bytes text, Call& call, const Visit& visit) const {
  const uint8_t *const begin = text.data(), *const end = begin + text.size(), *at = begin;
  const auto is_word = [&](const uint8_t* p) { return (class_of(next_char(p, end), call.needs) & kWordChar) != 0; };
  for (const uint8_t* p = begin; p < end;) {
    if (!added.begins[*p]) [[likely]] {
      ++p;
      continue;
    }
    uint32_t number;
    const size_t size = added.trie.longest(p, end, &number);
    if (size == 0) {
      ++p;
      continue;
    }
    const AddedTokens::Token& token = added.tokens[number];
    const uint8_t *first = p, *last = p + size;
    p = last;
    if (states[number] == kIgnored) continue;
    if (token.single_word &&
        ((first > begin && is_word(previous_char(first, begin))) || (last < end && is_word(last))))
      continue;
    while (token.left && first > begin) {
      const uint8_t *before = previous_char(first, begin), *q = before;
      if (!is_space(next_char(q, end))) break;
      first = before;
    }
    if (token.left) first = std::max(first, at);
    while (token.right && last < end) {
      const uint8_t* q = last;
      if (!is_space(next_char(q, end))) break;
      last = q;
    }
    if (at < first) visit(Bytes{at, first}, kNothing);
    if (first < last) visit(Bytes{first, last}, token.id);  // else the token before has taken it as white space
    at = last;
  }
  if (at < end) visit(Bytes{at, end}, kNothing);
}

void TextModel::encode_segment(Bytes segment, bool is_first, Bytes states, Call& call) const {
  const Bytes text = normalize(segment, call);
  if (!call.needs.empty()) return;
  if (normalized.tokens.empty()) {
    encode_pieces(text, is_first, call);
    return;
  }
  find_added(normalized, states, text, call, [&](Bytes part, uint32_t id) {
    if (id != kNothing) call.sink.add(id);
    else encode_pieces(part, is_first, call);
    is_first = false;
  });
}

// The steps write to two texts in turn.
Bytes TextModel::normalize(Bytes segment, Call& call) const {
  std::string *to = &call.scratch.one, *other = &call.scratch.other;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kStrip) {
      segment = stripped(segment, step.left, step.right);
      continue;
    }
    to->clear();
    to->reserve(segment.size() + 16);
    switch (step.kind) {
      case Step::Kind::kPrepend:
        if (!segment.empty()) *to = step.to;
        to->append(view_of(segment));
        break;
      case Step::Kind::kReplace: replace_all(segment, step.from, step.to, *to); break;
      case Step::Kind::kSqueeze: squeeze_spaces(segment, step.to, *to); break;
      case Step::Kind::kChars: chars.apply(segment, *to, call.needs); break;
      case Step::Kind::kSpaces: call.needs.is_for_python |= !spaces.apply(segment, *to); break;
      case Step::Kind::kStrip: break;
    }
    segment = bytes_of(*to);
    if (!call.needs.empty()) return segment;
    std::swap(to, other);
  }
  return segment;
}

void TextModel::encode_pieces(Bytes text, bool is_first, Call& call) const {
  call.end = text.data() + text.size();
  if (!has_classes) {
    if (!text.empty()) encode_piece(text, is_first, call);
    encode_waiting(call);
    return;
  }
  const uint8_t *p = text.data(), *end = p + text.size(), *begin = p;
  uint8_t last = kRemoved;
  while (p < end) {
    const uint8_t* at = p;
    const auto group = static_cast<uint8_t>(class_of(next_char(p, end), call.needs));
    if (group == last && group != kIsolated) continue;
    if (begin < at && last != kRemoved) encode_piece({begin, at}, is_first, call);
    begin = at;
    last = group;
  }
  if (begin < end && last != kRemoved) encode_piece({begin, end}, is_first, call);
  encode_waiting(call);
}

void TextModel::encode_piece(Bytes piece, bool is_first, Call& call) const {
  if (!call.needs.empty()) return;
  if (!has_metaspace) {
    encode_words(piece, call);
    return;
  }
  std::string& text = call.scratch.third;
  text.clear();
  const bool is_wanted = prefix == Prefix::kAlways || (prefix == Prefix::kFirst && is_first);
  const std::string_view given = view_of(piece);
  const bool has_one = !prefixes_blindly && (given.starts_with(space) || given.starts_with(' '));
  if (is_wanted && !has_one && !piece.empty()) text = space;
  if (prefixes_blindly) text += given;
  else replace_all(piece, " ", space, text);
  const Bytes whole = bytes_of(text);
  call.end = whole.data() + whole.size();
  size_t begin = 0;
  if (metaspace_splits) {
    for (size_t at; (at = text.find(space, begin + 1)) != std::string::npos; begin = at)
      encode_words(whole.subspan(begin, at - begin), call);
  }
  encode_words(whole.subspan(begin), call);
  encode_waiting(call);  // the next piece is written over this one
}

void TextModel::encode_words(Bytes piece, Call& call) const {
  const uint8_t *p = piece.data(), *end = p + piece.size(), *begin = p;
  if (p == end) return;
  if (whole_first) {
    if (const uint32_t number = tokens.strings.find(p, piece.size()); number != kNothing) {
      encode_waiting(call);
      call.sink.add(tokens.ids[number]);
      return;
    }
  }
  const auto add = [&](const uint8_t* first, const uint8_t* last, uint32_t single) {
    auto& part = call.scratch.waiting[call.waiting++];
    part.word = {first, last};
    part.single = single;
    if (single == kNothing && part.is_short()) {
      WordCache::make_key(part.word, call.end, part.key);
      call.scratch.cache.prefetch(part.key);
    }
    if (call.waiting == TextScratch::kMostWaiting) encode_waiting(call);
  };
  if (words == Words::kAtSpaces) {
    const std::string_view text = view_of(piece);
    for (size_t at; (at = text.find(space, static_cast<size_t>(begin - p) + 1)) != std::string_view::npos; begin = p + at)
      add(begin, p + at, kNothing);
  }
  uint32_t last = kNothing;
  if (words == Words::kWherePossible) {
    const uint8_t* before = p;
    uint32_t left = next_char(p, end);
    while (p < end) {
      const uint8_t* at = p;
      const uint32_t right = next_char(p, end);
      if (!pairs.may_hold(left, right) &&
          (!cuts_before_known || tokens.strings.find(at, static_cast<size_t>(p - at)) != kNothing)) {
        add(begin, at, begin == before ? left : kNothing);
        begin = at;
      }
      before = at;
      left = right;
    }
    if (begin == before) last = left;
  }
  add(begin, end, last);
}

// The words that wait; before anything that stands behind them, or in their place.
void TextModel::encode_waiting(Call& call) const {
  const size_t count = std::exchange(call.waiting, 0);
  if (kind == Kind::kSums32) return encode_sums<float>(count, call);
  if (kind == Kind::kSums64) return encode_sums<double>(count, call);
  for (size_t i = 0; i < count; ++i) encode_word(call.scratch.waiting[i], call);
}

void TextModel::encode_word(TextScratch::Waiting& part, Call& call) const {
  WordCache& cache = call.scratch.cache;
  if (part.single != kNothing) {
    const auto& single = call.scratch.singles.place_of(part.single);
    if (single.c == part.single) return call.sink.add(single.id);
    WordCache::make_key(part.word, part.word.data() + part.word.size(), part.key);
  }
  if (const WordCache::Slot* slot = part.is_short() ? cache.find(part.key) : nullptr) {
    call.sink.add(slot->ids, slot->count());
    return;
  }
  if (!model->encode(part.word, call.scratch.word)) {
    call.needs.is_for_python = true;
    return;
  }
  const auto& found = call.scratch.word.ids;
  call.sink.add(found.data(), found.size());
  if (part.single != kNothing && found.size() == 1)
    call.scratch.singles.place_of(part.single) = {0.0, part.single, found[0]};
  else if (part.is_short()) cache.keep(part.key, found, 0);
}

// Unigram whose sums go on through a text: what stood before a word decides how sums in it are rounded, and so which of two
// ways that are almost equal is taken. Where the best way of a word is so much better than the next that no rounding can
// change it, its tokens are kept; the sum is added up as the reference does, token by token.
template <class Sum>
void TextModel::encode_sums(size_t count, Call& call) const {
  Sum sum = static_cast<Sum>(call.sum);
  for (size_t i = 0; i < count; ++i) {
    const auto& part = call.scratch.waiting[i];
    if (part.single != kNothing && std::abs(sum) <= Unigram::most<Sum>) {
      auto& single = call.scratch.singles.place_of(part.single);
      if (single.c != part.single) find_single(part.word, part.single, single);
      sum = static_cast<Sum>(single.score) + sum;
      if (single.id != kNothing) call.sink.add(single.id);
      else add_unknown_word(part.word, call);
      continue;
    }
    const bool is_kept = part.single == kNothing && part.is_short();
    const WordCache::Slot* slot = is_kept ? call.scratch.cache.find(part.key) : nullptr;
    if (slot == nullptr || !(std::abs(sum) <= static_cast<Sum>(slot->limit))) {
      call.sum = sum;
      search<Sum>(part, slot == nullptr && is_kept, call);
      sum = static_cast<Sum>(call.sum);
      continue;
    }
    for (size_t k = 0; k < slot->count(); ++k) sum = static_cast<Sum>(models.sums.score(slot->ids[k])) + sum;
    add_tokens(part.word, slot->ids, slot->count(), call);
  }
  call.sum = sum;
}

// Searches for the best way through a word; and keeps it, if that is wanted and no smaller sum before it has another one.
template <class Sum>
void TextModel::search(const TextScratch::Waiting& part, bool keeps, Call& call) const {
  WordScratch& scratch = call.scratch.word;
  const double before = std::abs(call.sum);
  double limit = 0;
  call.sum = models.sums.search(part.word, static_cast<Sum>(call.sum), scratch, keeps ? &limit : nullptr);
  models.sums.tokens(part.word, scratch);
  add_tokens(part.word, scratch.ids.data(), scratch.ids.size(), call);
  limit *= 0.999;  // for it becomes a float
  if (keeps && before <= limit) call.scratch.cache.keep(part.key, scratch.ids, static_cast<float>(limit));
}

void TextModel::add_tokens(Bytes word, const uint32_t* numbers, size_t count, Call& call) const {
  size_t known = 0, at = 0;  // how many tokens the first `at` bytes are
  for (size_t i = 0; i < count; ++i) {
    if (numbers[i] != kUnknownToken) [[likely]] {
      call.sink.add(tokens.ids[numbers[i]]);
      continue;
    }
    for (; known < i; ++known) at += tokens.strings[numbers[known]].size();
    if (at >= word.size()) return;  // an image's strings are not those of its trie
    const size_t size = std::min(utf8_size(word[at]), word.size() - at);
    add_unknown_word(word.subspan(at, size), call);
    at += size;
    known = i + 1;
  }
}

void TextModel::find_single(Bytes word, uint32_t c, SingleChars::Single& single) const {
  uint32_t number = kNothing;
  if (tokens.trie.longest(word.data(), word.data() + word.size(), &number) != word.size()) number = kNothing;
  single = {models.sums.score(number == kNothing ? kUnknownToken : number), c,
            number == kNothing ? kNothing : tokens.ids[number]};
}

bool TextModel::fits() const {
  const auto step_fits = [&](const Step& step) {
    return step.fits() && (step.kind != Step::Kind::kSpaces || !spaces.space.empty());
  };
  const bool model_fits = models.fits() && (kind == Kind::kWord || models.which == Models::Used::kUnigram);
  return tokens.fits() && model_fits && pairs.fits() && !space.empty() && raw.trie.fits(raw.tokens.size()) &&
         normalized.trie.fits(normalized.tokens.size()) && std::all_of(steps.begin(), steps.end(), step_fits) && chars.fits() &&
         spaces.fits();
}

void TextModel::open(Bytes image) {
  ImageReader reader(image);
  parts(reader);
  if (!reader.is_at_end() || !fits()) throw std::invalid_argument("not such an image");
}

void TextModel::add_unknown_word(Bytes word, Call& call) const {
  if (!unknown.to_bytes && unknown.id != kNothing) return call.sink.add(unknown.id);
  std::vector<uint32_t>& found = call.scratch.unknown;
  found.clear();
  call.needs.is_for_python |= !add_unknown(unknown, word, found);
  call.sink.add(found.data(), found.size());
}

}  // namespace tokcli
