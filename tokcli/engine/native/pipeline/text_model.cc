// The stages of encoding: see text_model.h.
#include "pipeline/text_model.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "pipeline/text_call.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

// The most bytes that normalizing may make of a text: steps that feed each other could make anything of a few bytes, and
// the places in a word are numbers of 31 bits. What would be more is left to Python.
size_t most_normalized(Bytes text) {
  constexpr size_t kAnyText = size_t{1} << 20, kGrowth = 16, kMost = size_t{1} << 30;
  return std::min(kMost, kAnyText + kGrowth * text.size());
}

bool has(Bytes text, std::string_view found) {
  const uint8_t* const end = text.data() + text.size();
  return find_near(text.data(), end, found) < end;
}

// Appends the place of a part of a text: its first and its past-the-end byte.
void add_place(Bytes part, Bytes text, Spans& spans) {
  uint64_t* const to = spans.reserve(2);
  to[0] = static_cast<uint64_t>(part.data() - text.data());
  to[1] = to[0] + part.size();
  spans.commit(2);
}

}  // namespace

void AddedTokens::build(const std::vector<std::string_view>& texts, std::vector<AddedToken> given) {
  tokens = std::move(given);
  std::vector<uint32_t> numbers(texts.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  trie.build(texts, numbers);
  for (size_t i = 0; i < texts.size(); ++i) {
    begins.add(static_cast<uint8_t>(texts[i].front()));
    takes_after[static_cast<uint8_t>(texts[i].back())] |= tokens[i].right;
    for (const std::string_view space : {" ", "\u2581"})
      spans_spaces |= texts[i].find(space, tokens[i].single_word ? 0 : 1) != std::string_view::npos;
  }
}

size_t TextModel::encode(Bytes text, Bytes raw_states, Bytes normalized_states, ScratchPool& pool, size_t threads,
                         IdBuffer* out, Refusal& refusal, Spans* spans, Ends ends, double* sum) const {
  const ScratchPool::Lease scratch(pool);
  scratch->cache.expect_text(text.size());
  Call call{pool, *scratch, IdSink(out, joins_unknown ? unknown.id : kNone), refusal, most_normalized(text), threads};
  call.track(spans, text, text);
  if (spans != nullptr && !knows_places()) {
    refusal.is_refused = true;
    return 0;
  }
  call.ends_at_next = has_space_rules();
  call.ends = ends;
  if (sum != nullptr) call.sum = *sum;
  bool is_first = ends.begin;
  find_added(raw, raw_states, text, [&](Bytes segment, uint32_t id) {
    call.scratch.word.pace.step(segment.size());
    if (id == kNone) {
      encode_segment(segment, is_first, normalized_states, call);
    } else {
      call.sink.add(id);
      if (spans != nullptr) add_place(segment, text, *spans);
    }
    is_first = false;
  });
  if (sum != nullptr) *sum = call.sum;
  scratch->trim(text.size());
  return call.sink.count();
}

std::vector<uint64_t> TextModel::part_ends(Bytes text, Bytes raw_states, size_t size) const {
  std::vector<uint64_t> ends;
  // (also a token that is taken as text hides others: none may be found in a part alone)
  bool is_plain = finds_in_parts() && sums == Sums::kPerWord && !joins_unknown && knows_places() && !raw.spans_spaces;
  if (is_plain) find_added(raw, raw_states, text, [&](Bytes, uint32_t id) { is_plain &= id == kNone; });
  if (!is_plain) return ends;
  const auto is_cut = [&](const uint8_t* at, const uint8_t* begin, const uint8_t* end) {
    return is_cut_before_space(at, begin, end);
  };
  for (const Bytes part : parts_of(text, size, is_cut))
    ends.push_back(static_cast<uint64_t>(part.data() - text.data()) + part.size());
  return ends;
}

void TextModel::find_tokens(Bytes text, Bytes raw_states, Bytes normalized_states, const VisitToken& visit) const {
  const auto take = [&](Bytes segment, uint32_t id) {
    if (id != kNone) visit(segment, id);
  };
  find_added(raw, raw_states, text, [&](Bytes segment, uint32_t id) {
    if (id == kNone) find_added(normalized, normalized_states, segment, take);
    else visit(segment, id);
  });
}

// Calls visit(segment, id) for each added token in a text, and visit(segment, kNone) for what is between them.
template <class Visit>
void TextModel::find_added(const AddedTokens& added, Bytes states, Bytes text, const Visit& visit) const {
  const uint8_t *const begin = text.data(), *const end = begin + text.size(), *at = begin;
  const uint8_t* blanks_end = begin;  // of the white space after a token that takes it: it may hold many tokens
  if (added.tokens.empty()) return text.empty() ? void() : visit(text, kNone);
  const auto is_word = [&](const uint8_t* p) { return groups.is_word(next_char(p, end)); };
  LongestSearch search(added.trie, text);
  Pace pace;
  for (const uint8_t* p = begin; p < end;) {
    const uint8_t* const found = added.begins.find(p, end);
    pace.step(1 + static_cast<size_t>(found - p) / 8);
    if ((p = found) == end) break;
    uint32_t number;
    const size_t size = search.at(p, &number);
    if (size == 0) {
      ++p;
      continue;
    }
    const AddedTokens::AddedToken& token = added.tokens[number];
    const uint8_t *first = p, *last = p + size;
    p = last;
    if (states[number] == kIgnored) continue;
    if (token.single_word &&
        ((first > begin && is_word(previous_char(first, begin))) || (last < end && is_word(last))))
      continue;
    while (token.left && first > at) {
      const uint8_t *before = previous_char(first, at), *q = before;
      if (!is_space(next_char(q, end))) break;
      first = before;
    }
    if (token.left) first = std::max(first, at);
    if (token.right && last > blanks_end) {
      for (const uint8_t* q = last; (blanks_end = q) < end && is_space(next_char(q, end));) continue;
    }
    if (token.right) last = blanks_end;
    if (at < first) visit(Bytes{at, first}, kNone);
    if (first < last) visit(Bytes{first, last}, token.id);  // else the token before has taken all of it as white space
    at = last;
  }
  if (at < end) visit(Bytes{at, end}, kNone);
}

// A long segment that may be cut before spaces is normalized and encoded in parts, which threads share. Also one thread
// takes part after part: what is made of each stays in the processor's cache.
void TextModel::encode_segment(Bytes segment, bool is_first, Bytes states, Call& call) const {
  const auto is_cut = [&](const uint8_t* at, const uint8_t* begin, const uint8_t* end) {
    return is_cut_before_space(at, begin, end);
  };
  const Ends whole = call.ends;
  const auto encode = [&](Bytes part, Call& one) {
    const Ends ends{whole.begin && part.data() == segment.data(),
                    whole.end && part.data() + part.size() == segment.data() + segment.size()};
    encode_part(part, ends, is_first && ends.begin, states, one);
  };
  if (!finds_in_parts() || segment.size() < 2 * kPartBytes) return encode_part(segment, whole, is_first, states, call);
  if (in_parts(segment, call, is_cut, encode)) return;
  const std::vector<Bytes> parts = parts_of(segment, kPartBytes, is_cut);
  size_t i = share_sums(parts, call, encode);
  while (i < parts.size() && !call.refusal.is_refused) encode(parts[i++], call);
}

// Returns whether a text may be cut before a space, and each part be normalized and encoded on its own. Such a space is
// between two letters or digits of ASCII that the steps of the normalizer change, if at all, each by itself, and that no
// word or added token holds together with the space.
bool TextModel::is_cut_before_space(const uint8_t* at, const uint8_t* begin, const uint8_t* end) const {
  const auto is_plain = [](unsigned c) { return c - '0' < 10 || (c | 0x20) - 'a' < 26; };
  if (at == begin || end - at < 2 || *at != ' ' || !is_plain(at[-1]) || !is_plain(at[1])) return false;
  uint8_t left = at[-1], right = at[1];
  std::string_view between = " ";
  const auto holds = [](std::string_view text, uint8_t c) { return text.find(static_cast<char>(c)) != text.npos; };
  for (const Step& step : steps) {
    switch (step.kind) {
      case Step::Kind::kPrepend:
      case Step::Kind::kStrip:  // at the ends of the whole text
      case Step::Kind::kSqueeze: break;  // more than one space
      case Step::Kind::kReplace:
        if (step.from == between) between = step.to;
        else if (holds(step.from, left) || holds(step.from, right) || step.from.find(between) != std::string::npos) return false;
        if (between != " " && between != space) return false;
        break;
      case Step::Kind::kChars:
        left = chars.ascii(left);
        right = chars.ascii(right);
        if (between != " " || chars.ascii(' ') != ' ' || !is_plain(left) || !is_plain(right)) return false;
        break;
      case Step::Kind::kSpaces:
        if (between != " " || !spaces.is_cut(left, right)) return false;
        between = space;
        break;
    }
  }
  return !normalized.takes_after[left] && is_cut_at(left, between);
}

// Returns whether no word holds a character of ASCII and what is after it: a space, or what spaces become.
bool TextModel::is_cut_at(uint32_t left, std::string_view between) const {
  const uint8_t *p = bytes_of(between).data(), *const end = p + between.size();
  const uint32_t right = next_char(p, end);
  if (has_classes) return groups.group_of(right) == CharacterGroups::kRemoved;
  if (has_metaspace) {
    if (prefixes_blindly) return false;
    if (metaspace_splits) return true;
    between = space;
  }
  if (whole_first) return false;  // a part would be looked up as a piece
  if (word_cut == WordCut::kWherePossible) {
    const Bytes text = bytes_of(between);
    p = text.data();
    return !pairs.may_hold(left, next_char(p, p + text.size())) &&
           (!cuts_before_known || tokens.strings.find(text.data(), text.size()) != kNone);
  }
  return word_cut == WordCut::kAtSpaces && between == space;
}

void TextModel::encode_part(Bytes part, Ends ends, bool is_first, Bytes states, Call& call) const {
  const Bytes text = normalize(part, ends, call);
  if (call.refusal.is_refused) return;
  find_added(normalized, states, text, [&](Bytes segment, uint32_t id) {
    if (id == kNone) {
      encode_pieces(segment, is_first, call);
    } else {
      call.sink.add(id);
      call.add_span(segment.data(), segment.data() + segment.size());
    }
    is_first = false;
  });
}

// Returns a normalized segment, or part of one. The steps write to two texts in turn.
Bytes TextModel::normalize(Bytes segment, Ends ends, Call& call) const {
  std::string *to = &call.scratch.one, *other = &call.scratch.other;
  Origins *to_origins = &call.scratch.one_origins, *origins = &call.scratch.other_origins;  // those of `segment`
  if (call.spans != nullptr) origins->begin(static_cast<size_t>(segment.data() - call.raw.data()));
  std::optional<Tracking> tracking;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kStrip) {
      const Bytes left = stripped(segment, step.left && ends.begin, step.right && ends.end);
      if (call.spans != nullptr) origins->drop(static_cast<size_t>(left.data() - segment.data()));
      segment = left;
      continue;
    }
    if (call.spans != nullptr) tracking.emplace(*origins, *to_origins);
    Tracking* const kept = tracking ? &*tracking : nullptr;
    to->clear();
    to->reserve(segment.size() + 16);
    switch (step.kind) {
      case Step::Kind::kPrepend:
        if (ends.begin && !segment.empty()) *to = step.to;
        if (kept != nullptr && !to->empty()) kept->replaced(0, step.to, 0);
        if (kept != nullptr && !segment.empty()) kept->copied(0, segment.size(), to->size());
        to->append(view_of(segment));
        break;
      case Step::Kind::kReplace:
        call.refusal.is_refused |= !replace_all(segment, step.from, step.to, call.most, *to, kept);
        break;
      case Step::Kind::kSqueeze: squeeze_spaces(segment, step.to, *to, kept); break;
      case Step::Kind::kChars: call.refusal.is_refused |= !chars.apply(segment, *to, kept); break;
      case Step::Kind::kSpaces: call.refusal.is_refused |= !spaces.apply(segment, ends, call.most, *to, kept); break;
      case Step::Kind::kStrip: break;
    }
    call.refusal.is_refused |= to->size() > call.most;
    segment = bytes_of(*to);
    if (call.refusal.is_refused) return segment;
    std::swap(to, other);
    std::swap(to_origins, origins);
  }
  if (call.spans != nullptr) call.cut_from(segment.data(), *origins);
  return segment;
}

void TextModel::encode_pieces(Bytes text, bool is_first, Call& call) const {
  const auto is_after_removed = [&](const uint8_t* at, const uint8_t* first, const uint8_t* end) {
    const uint8_t* before = previous_char(at, first);
    return groups.group_of(next_char(before, end)) == CharacterGroups::kRemoved;
  };
  call.end = text.data() + text.size();
  if (has_classes &&
      in_parts(text, call, is_after_removed, [&](Bytes part, Call& one) { encode_pieces(part, is_first, one); }))
    return;
  const uint8_t* const normalized_begin = call.begin;
  const Origins* const normalized_origins = call.origins;
  const bool tracks = call.spans != nullptr && has_metaspace;
  call.scratch.piece.clear();
  if (tracks) call.write_pieces();
  const bool are_removed = has_classes && groups.group_of(' ') == CharacterGroups::kRemoved;
  call.has_spaces = has_metaspace && ((!are_removed && has(text, " ")) || has(text, space));
  const uint8_t *p = text.data(), *const end = p + text.size(), *begin = p;
  uint8_t last = has_classes ? CharacterGroups::kRemoved : CharacterGroups::kIsolated;
  Pace pace;
  while (has_classes && p < end) {
    pace.step();
    const uint8_t* at = p;
    const uint8_t group = groups.group_of(next_char(p, end));
    if (group == last && group != CharacterGroups::kIsolated) continue;
    if (begin < at && last != CharacterGroups::kRemoved) encode_piece({begin, at}, is_first, call);
    begin = at;
    last = group;
  }
  if (begin < end && last != CharacterGroups::kRemoved) encode_piece({begin, end}, is_first, call);
  encode_waiting(call);
  if (tracks) call.cut_from(normalized_begin, *normalized_origins);
}

void TextModel::encode_piece(Bytes piece, bool is_first, Call& call) const {
  if (call.refusal.is_refused) return;
  if (!has_metaspace) return encode_words(piece, call);
  const std::string_view given = view_of(piece);
  const bool has_one = given.starts_with(space) || given.starts_with(' ');
  const bool is_wanted = prefix == MetaspacePrefix::kAlways || (prefix == MetaspacePrefix::kFirst && is_first);
  const std::string_view before = prefixes_blindly || (is_wanted && !has_one) ? std::string_view(space) : "";
  if (prefixes_blindly || !call.has_spaces || !(has(piece, " ") || has(piece, space)))
    return encode_in_row(before, piece, call);
  std::string& text = call.scratch.piece;
  encode_waiting(call);
  text = before;
  Tracking* const tracking = call.begin_piece(piece);
  if (tracking != nullptr) {
    call.scratch.piece_origins.cut(0);
    tracking->replaced(0, before, 0);
  }
  if (!replace_all(piece, " ", space, call.most, text, tracking)) call.refusal.is_refused = true;
  if (call.refusal.is_refused) return;
  const Bytes whole = bytes_of(text);
  if (tracking != nullptr) call.cut_from(whole.data(), call.scratch.piece_origins);
  call.end = whole.data() + whole.size();
  const auto encode_spaced = [&](Bytes part, Call& one) {
    if (part.empty()) return;
    const uint8_t *begin = part.data(), *const end = begin + part.size();
    for (const uint8_t* at; metaspace_splits && (at = find_near(begin + 1, end, space)) < end; begin = at)
      encode_words({begin, at}, one);
    encode_words({begin, end}, one);
  };
  const auto is_at_space = [&](const uint8_t* at, const uint8_t*, const uint8_t* end) {
    return view_of({at, end}).starts_with(space);
  };
  if (!metaspace_splits || !in_parts(whole, call, is_at_space, encode_spaced)) encode_spaced(whole, call);
  encode_waiting(call);  // before the next piece is written over this one
  text.clear();
}

// Encodes a piece that is written with `before` before it, and not changed. As a rule there are many and short ones: they
// are put in a row, so that their words may wait together.
void TextModel::encode_in_row(std::string_view before, Bytes piece, Call& call) const {
  constexpr size_t kRoom = size_t{1} << 14;
  const size_t size = before.size() + piece.size();
  std::string& row = call.scratch.piece;
  if (row.empty() || row.capacity() - row.size() < size) {
    encode_waiting(call);
    row.clear();
    row.reserve(std::max(size, kRoom));
    if (call.spans != nullptr) {
      call.scratch.piece_origins.cut(0);
      call.cut_from(bytes_of(row).data(), call.scratch.piece_origins);
    }
  }
  const size_t begin = row.size();
  if (Tracking* const tracking = call.begin_piece(piece)) {
    tracking->replaced(0, before, begin);
    tracking->copied(0, piece.size(), begin + before.size());
    call.reader.has_grown();
  }
  row += before;
  row += view_of(piece);
  call.end = bytes_of(row).data() + row.size();
  encode_words(bytes_of(row).subspan(begin), call);
}

bool TextModel::fits() const {
  const auto step_fits = [&](const Step& step) {
    return step.fits() && (step.kind != Step::Kind::kSpaces || !spaces.space.empty());
  };
  const bool model_fits = models.fits() && (sums == Sums::kPerWord || models.which == Models::Used::kUnigram);
  return tokens.fits() && model_fits && pairs.fits() && !space.empty() && raw.trie.fits(raw.tokens.size()) &&
         normalized.trie.fits(normalized.tokens.size()) && std::all_of(steps.begin(), steps.end(), step_fits) &&
         chars.fits() && spaces.fits() && groups.fits();
}

void TextModel::open(Bytes image) {
  TextImageReader reader(image);
  fields(reader);
  if (!reader.is_at_end() || !fits()) throw std::invalid_argument("not an image of a text model");
}

}  // namespace tokcli
