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

bool has(Bytes text, std::string_view found) {
  const uint8_t* const end = text.data() + text.size();
  return find_near(text.data(), end, found) < end;
}

}  // namespace

size_t TextModel::encode(const Task& task, TextWorker& worker, Refusal& refusal) const {
  const Bytes text = task.text;
  TextScratch* const scratch = &*worker.scratch;
  if (model != nullptr) scratch->cache.expect_text(text.size());
  Call call{worker, *scratch, IdSink(task.ids, joins_unknown ? unknown.id : kNone), refusal, GrowthLimit(text), task.threads};
  call.splits = task.piece_ends != nullptr;
  call.track(call.splits ? task.piece_ends : task.spans, text, text);
  if (call.splits ? !knows_pieces() : task.spans != nullptr && !knows_places()) {
    call.refuse();
    return 0;
  }
  call.ends_at_next = has_space_rules();
  call.ends = task.ends;
  call.blanks = task.blanks;
  call.take = task.take;
  if (task.sum != nullptr) call.sum = *task.sum;
  bool is_first = task.ends.begin;
  find_added(raw, task.raw_states, text, [&](Bytes segment, uint32_t id) {
    call.scratch.word.pace.step(segment.size());
    if (id == kNone) {
      encode_segment(segment, is_first, task.normalized_states, call);
    } else {
      call.sink.add(id);
      call.add_place(segment);
      add_blanks_of(segment, call);
    }
    is_first = false;
  });
  if (task.sum != nullptr) *task.sum = call.sum;
  scratch->trim(text.size());
  return call.sink.count();
}

// Adds with how many spaces an added token begins and ends; the character of a space's byte in GPT-2's alphabet is one.
void TextModel::add_blanks_of(Bytes token, Call& call) const {
  if (call.blanks == nullptr) return;
  const auto is_blank = [](uint32_t c) { return is_space(c) || c == 0x120; };
  const uint8_t *const begin = token.data(), *const end = begin + token.size();
  size_t left = 0, right = 0;
  for (const uint8_t* p = begin; p < end && is_blank(next_char(p, end));) ++left;
  for (const uint8_t* p = end; p > begin; ++right) {
    const uint8_t* at = p = previous_char(p, begin);
    if (!is_blank(next_char(at, end))) break;
  }
  call.add_blanks(left, right);
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

// A long segment that may be cut before spaces is normalized and encoded in parts, which threads share. Also one thread
// takes part after part: what is made of each stays in the processor's cache.
void TextModel::encode_segment(Bytes segment, bool is_first, Bytes states, Call& call) const {
  const auto is_cut = [&](const uint8_t* at, const uint8_t* begin, const uint8_t* end) {
    return is_cut_before_space(at, begin, end);
  };
  const Ends whole = call.ends;
  call.origins = nullptr;  // its parts are parts of the text as given
  const auto encode = [&](Bytes part, Call& one) {
    const Ends ends{whole.begin && part.data() == segment.data(),
                    whole.end && part.data() + part.size() == segment.data() + segment.size()};
    encode_part(part, ends, is_first && ends.begin, states, one);
  };
  const bool is_whole = models.which == Models::Used::kRanks && ((steps.empty() && call.spans == nullptr) || !ranks.may_cut());
  if (is_whole || call.splits || !finds_in_parts() || segment.size() < 2 * kPartBytes)
    return encode_part(segment, whole, is_first, states, call);
  if (in_parts(segment, call, is_cut, encode)) return;
  const std::vector<Bytes> parts = parts_of(segment, sums == Sums::kPerWord ? kPartBytes : kSumPartBytes, is_cut);
  size_t i = share_sums(parts, call, encode);
  while (i < parts.size() && !call.refusal.is_refused) {
    encode(parts[i++], call);
    if (call.take == nullptr || i == parts.size() || call.refusal.is_refused) continue;
    const auto done = static_cast<size_t>(parts[i].data() - segment.data());
    (*call.take)(static_cast<size_t>(static_cast<double>(call.sink.count()) * 1.05 * segment.size() / done));
    call.sink.buffer()->clear();
  }
}

void TextModel::encode_part(Bytes part, Ends ends, bool is_first, Bytes states, Call& call) const {
  const Bytes text = normalize(part, ends, call);
  if (model != nullptr && !steps.empty()) call.add_made(points_in(text).count);
  if (call.refusal.is_refused) return;
  find_added(normalized, states, text, [&](Bytes segment, uint32_t id) {
    if (id == kNone) {
      encode_pieces(segment, is_first, call);
    } else {
      call.sink.add(id);
      call.add_span(segment.data(), segment.data() + segment.size());
      add_blanks_of(segment, call);
    }
    is_first = false;
  });
}

void TextModel::encode_pieces(Bytes text, bool is_first, Call& call) const {
  if (models.which == Models::Used::kRanks) return encode_ranks(text, call);
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
  call.scratch.row_size = 0;
  if (tracks) call.write_pieces();
  const bool are_removed = has_classes && groups.group_of(' ') == CharacterGroups::kRemoved;
  call.has_spaces = has_metaspace && ((!are_removed && has(text, " ")) || has(text, space));
  const uint8_t *p = text.data(), *const end = p + text.size();
  if (!has_classes && p < end) encode_piece(text, is_first, call);
  Pace pace;
  const bool are_words = !has_metaspace && word_cut == WordCut::kNowhere && whole_first == WholeFirst::kNever && !call.splits;
  while (has_classes && p < end && !call.refusal.is_refused) {
    const uint8_t* const begin = p;
    const uint8_t group = groups.next_group(p, end);
    if (group != CharacterGroups::kIsolated) p = groups.run_end(p, end, group);
    pace.step(static_cast<size_t>(p - begin));
    if (group == CharacterGroups::kRemoved) continue;
    if (are_words) add_word({begin, p}, kNone, call);
    else encode_piece({begin, p}, is_first, call);
  }
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
  call.scratch.row_size = 0;
  text = before;
  Tracking* const tracking = call.begin_piece(piece);
  if (tracking != nullptr) {
    call.scratch.piece_origins.cut(0);
    tracking->replaced(0, before, 0);
  }
  if (!replace_all(piece, " ", space, call.limit, text, tracking)) return call.refuse_growth();
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
  size_t& written = call.scratch.row_size;
  if (row.size() < written + size + WordCache::kReadBeyond) {
    encode_waiting(call);
    row.resize(std::max(size + WordCache::kReadBeyond, kRoom));
    written = 0;
    call.end = bytes_of(row).data() + row.size();
    if (call.spans != nullptr) {
      call.scratch.piece_origins.cut(0);
      call.cut_from(bytes_of(row).data(), call.scratch.piece_origins);
    }
  }
  const size_t begin = written;
  if (Tracking* const tracking = call.begin_piece(piece)) {
    tracking->replaced(0, before, begin);
    tracking->copied(0, piece.size(), begin + before.size());
    call.reader.has_grown();
  }
  std::copy_n(before.data(), before.size(), row.data() + begin);
  std::copy_n(piece.data(), piece.size(), row.data() + begin + before.size());
  written += size;
  encode_words(bytes_of(row).subspan(begin, size), call);
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
