// From text to ids by ranks and patterns: see text_model.h and rank_model.h.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "pipeline/text_call.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

// Writes how many spaces a token, `size` bytes of a text, begins and ends with: as a rule one or none, and no branch asks which.
void put_blanks(const uint8_t* token, size_t size, uint32_t* out) {
  size_t first = token[0] == ' ', last = size;
  if ((token[0] == ' ') & (token[size > 1] == ' ')) [[unlikely]] {
    while (first < size && token[first] == ' ') ++first;
  }
  while (last > 0 && token[last - 1] == ' ') --last;
  out[0] = static_cast<uint32_t>(first);
  out[1] = static_cast<uint32_t>(size - last);
}

}  // namespace

bool RankModel::find_splitting(Bytes text, Splitting& found) const {
  found = by;
  if (exceptions.empty()) return true;
  const uint8_t *p = text.data(), *const end = p + text.size();
  Pace pace;
  while (p < end) {
    pace.step();
    if (*p < 128 && exceptions[0] >= 128) {
      ++p;
      continue;
    }
    const uint32_t c = next_char(p, end);
    // the ends of ranges are at odd places: a character in a range is before an end, or is one
    const auto after = std::upper_bound(exceptions.begin(), exceptions.end(), c) - exceptions.begin();
    if (after % 2 == 0 && (after == 0 || exceptions[static_cast<size_t>(after) - 1] != c)) continue;
    found = {by.family, exact};
    return exact != nullptr;
  }
  return true;
}

// Encodes text between added tokens. What is put before it has the place of its first character.
void TextModel::encode_ranks(Bytes text, Call& call) const {
  if (text.empty() || call.refusal.is_refused) return;
  Bytes whole = text;
  if (ranks.puts_space && text[0] != ' ') whole = bytes_of(call.scratch.piece.assign(1, ' ').append(view_of(text)));
  Splitting by;
  if (!ranks.find_splitting(whole, by)) return call.refuse();
  if (call.splits) return split_by_ranks(text, whole, by, call);
  IdBuffer* const ids = call.sink.buffer();
  const size_t before = ids == nullptr ? 0 : ids->size();
  constexpr size_t kLong = size_t{1} << 19;  // bytes: below, threads and parts gain nothing
  Result result;
  if (whole.size() >= kLong && call.threads > 1) {
    result = ranks.encoders->encode(by, whole, call.threads, ids);
  } else if (whole.size() >= kLong && call.take != nullptr) {
    result = ranks.encoders->encode_parts(by, whole, ids, *call.take);
  } else {
    if (!call.worker.encoder) call.worker.encoder.emplace(*ranks.encoders);
    result = (*call.worker.encoder)->encode(by, whole, ids);
  }
  if (!result.is_good()) return call.refuse();
  call.sink.add_count(result.count);
  if (call.spans != nullptr) place_ranks(text, whole, {ids->data() + before, ids->size() - before}, call);
}

// Adds the ends of the pieces of `whole`: a text, and perhaps a space before it.
void TextModel::split_by_ranks(Bytes text, Bytes whole, const Splitting& by, Call& call) const {
  constexpr size_t kRoom = 256;
  const size_t added = whole.size() - text.size();
  std::array<const uint8_t*, kRoom + kWindow> ends;
  const uint8_t *p = whole.data(), *const end = p + whole.size();
  Pace pace;
  const bool is_split = with_finder(by, whole, [&](const auto& find) {
    for (size_t count; p < end && (count = find(p, ends.data(), kRoom)) > 0; p = ends[count - 1]) {
      for (size_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(ends[i] - whole.data());
        if (at > added) call.add_span(text.data(), text.data() + at - added);
      }
      pace.step(static_cast<size_t>(ends[count - 1] - p));
    }
  });
  if (!is_split || p < end) call.refuse();
}

// Adds the places of ids, whose bytes are those of `whole`: a text, and perhaps a space before it. Where bytes of it have no
// token, they have no place, and the text is refused. A character belongs to every token that has bytes of it.
void TextModel::place_ranks(Bytes text, Bytes whole, std::span<const uint32_t> ids, Call& call) const {
  const size_t added = whole.size() - text.size(), place = static_cast<size_t>(text.data() - call.begin);
  const size_t moved = call.reader.origin(place);
  const bool is_straight = added == 0 && call.reader.is_straight(place, text.size()) && text.size() <= call.raw.size() - moved &&
                           std::memcmp(text.data(), call.raw.data() + moved, text.size()) == 0;
  uint64_t* spans = call.spans->reserve(2 * ids.size());
  bool is_whole;
  if (is_straight) {
    CharSpans places = call.chars;  // (in registers, as the other one is not)
    uint64_t chars = places.begin_at(moved);
    is_whole = each_token(whole, ids, call, [&](const uint8_t* at, size_t size) {
      *spans++ = chars - (chars > 0 && !begins_char(*at));
      *spans++ = chars = places.end_at(moved + static_cast<size_t>(at - whole.data()) + size);
    });
    call.chars = places;
  } else {
    is_whole = each_token(whole, ids, call, [&](const uint8_t* at, size_t size) {
      const auto begin = static_cast<size_t>(at - whole.data());
      const uint8_t *first = text.data() + begin - std::min(begin, added), *last = text.data() + std::max(begin + size, added) - added;
      while (first > text.data() && !begins_char(*first)) --first;
      if (last == first) ++last;  // the space before the text alone
      call.write_span(first, last, std::exchange(spans, spans + 2));
    });
  }
  if (!is_whole) return call.refuse();
  call.spans->commit(2 * ids.size());
}

// Calls visit(place, size) for the bytes of each id in a text, and counts blanks. Returns false where some bytes have no token:
// then the sizes of all tokens are not that of the text. (Profile: reading the bytes of tokens took half of the time.)
template <class Visit>
bool TextModel::each_token(Bytes text, std::span<const uint32_t> ids, Call& call, const Visit& visit) const {
  constexpr size_t kAhead = 16;  // tokens between the one that is read and that which is asked for
  const Vocabulary& vocabulary = ranks.encoders->source();
  const uint8_t *at = text.data(), *const end = at + text.size();
  uint32_t* blanks = call.blanks == nullptr ? nullptr : call.blanks->reserve(2 * ids.size());
  Pace pace;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids.size() - i > kAhead) vocabulary.prefetch_size(ids[i + kAhead]);
    const size_t size = vocabulary.size(ids[i]);
    if (size == 0 || size > static_cast<size_t>(end - at)) return false;
    visit(at, size);
    if (blanks != nullptr) put_blanks(at, size, blanks + 2 * i);
    at += size;
    pace.step(size);
  }
  if (blanks != nullptr) call.blanks->commit(2 * ids.size());
  return at == end;
}

}  // namespace tokcli
