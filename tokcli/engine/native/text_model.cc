#include "text_model.h"

#include <algorithm>
#include <cmath>

namespace tokcli {

struct TextModel::Call {
  TextScratch& scratch;
  IdSink sink;
  Needs& needs;
  double sum = 0;  // of the scores so far (Unigram)
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
  if (!has_classes) {
    if (!text.empty()) encode_piece(text, is_first, call);
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
  if (!metaspace_splits) {
    encode_words(bytes_of(text), call);
    return;
  }
  size_t begin = 0;
  for (size_t at; (at = text.find(space, begin + 1)) != std::string::npos; begin = at)
    encode_words(bytes_of(std::string_view(text).substr(begin, at - begin)), call);
  if (begin < text.size()) encode_words(bytes_of(std::string_view(text).substr(begin)), call);
}

void TextModel::encode_words(Bytes piece, Call& call) const {
  const uint8_t *p = piece.data(), *end = p + piece.size(), *begin = p;
  if (p == end) return;
  if (whole_first) {
    if (const uint32_t number = tokens.strings.find(p, piece.size()); number != kNothing) {
      call.sink.add(tokens.ids[number]);
      return;
    }
  }
  if (words == Words::kAtSpaces) {
    const std::string_view text = view_of(piece);
    size_t from = 0;
    for (size_t at; (at = text.find(space, from + 1)) != std::string_view::npos; from = at)
      encode_word(piece.subspan(from, at - from), call);
    encode_word(piece.subspan(from), call);
    return;
  }
  if (words == Words::kWherePossible) {
    for (uint32_t left = next_char(p, end); p < end;) {
      const uint8_t* at = p;
      const uint32_t right = next_char(p, end);
      if (!pairs.may_hold(left, right) &&
          (!cuts_before_known || tokens.strings.find(at, static_cast<size_t>(p - at)) != kNothing)) {
        encode_word({begin, at}, call);
        begin = at;
      }
      left = right;
    }
  }
  encode_word({begin, end}, call);
}

void TextModel::encode_word(Bytes word, Call& call) const {
  if (kind != Kind::kWord) {
    encode_sums(word, call);
    return;
  }
  WordCache& cache = call.scratch.cache;
  const bool is_short = word.size() <= WordCache::kMostBytes;
  if (const WordCache::Slot* slot = is_short ? cache.find(word) : nullptr) {
    call.sink.add(slot->ids, slot->count);
    return;
  }
  if (!model->encode(word, call.scratch.word)) {
    call.needs.is_for_python = true;
    return;
  }
  const auto& found = call.scratch.word.ids;
  call.sink.add(found.data(), found.size());
  if (is_short) cache.keep(word, found, 0);
}

// Unigram whose sums go on through a text: what stood before a word decides how sums in it are rounded, and so which of two
// ways that are almost equal is taken. Where the best way of a word is so much better than the next that no rounding can
// change it, its ids are kept; the sum is added up as the reference does, token by token.
void TextModel::encode_sums(Bytes word, Call& call) const {
  const Unigram& unigram = models.sums;
  WordScratch& scratch = call.scratch.word;
  const bool is_short = word.size() <= WordCache::kMostBytes;
  const auto add = [&](const uint32_t* numbers, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (kind == Kind::kSums32)
        call.sum = static_cast<float>(unigram.score(numbers[i])) + static_cast<float>(call.sum);
      else call.sum = unigram.score(numbers[i]) + call.sum;
    }
  };
  const WordCache::Slot* slot = is_short ? call.scratch.cache.find(word) : nullptr;
  if (slot != nullptr && std::abs(call.sum) <= static_cast<double>(slot->limit)) {
    add(slot->ids, slot->count);
    if (slot->count == 1 && slot->ids[0] == kUnknownToken) {
      add_unknown_word(word, call);
    } else {
      for (size_t i = 0; i < slot->count; ++i) call.sink.add(tokens.ids[slot->ids[i]]);
    }
    return;
  }
  if (kind == Kind::kSums32)
    call.sum = unigram.search_single(word, static_cast<float>(call.sum), scratch);
  else call.sum = unigram.search(word, call.sum, scratch);
  const bool is_known = unigram.tokens(word, scratch);
  const std::vector<uint32_t> numbers = scratch.ids;
  if (is_known) {
    for (const uint32_t number : numbers) call.sink.add(tokens.ids[number]);
  } else {
    std::vector<size_t> ends;
    for (size_t end = word.size(); end > 0; end = scratch.steps[end].begin) ends.push_back(end);
    size_t at = 0;
    for (const uint32_t number : numbers) {
      if (number == kUnknownToken) add_unknown_word(word.subspan(at, ends.back() - at), call);
      else call.sink.add(tokens.ids[number]);
      at = ends.back();
      ends.pop_back();
    }
  }
  // of words with unknown characters in them only those that are one are kept, as in scripts that the tokens do not know
  if (!is_short || slot != nullptr || !(is_known || numbers.size() == 1)) return;
  const double unit = kind == Kind::kSums32 ? 0x1p-24 : 0x1p-53;
  const double most = kind == Kind::kSums32 ? 99999.0 : 1e15;
  const double limit = unigram.sure_up_to(word, scratch, unit, most);
  if (limit > 0) call.scratch.cache.keep(word, numbers, static_cast<float>(limit * 0.999));
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
  std::vector<uint32_t>& found = call.scratch.unknown;
  found.clear();
  call.needs.is_for_python |= !add_unknown(unknown, word, found);
  call.sink.add(found.data(), found.size());
}

}  // namespace tokcli
