// Reading a text once, block by block: see text_check.h.
#include "text/text_check.h"

#include <algorithm>
#include <utility>

#include "base/watch.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

constexpr size_t kBlock = 64;  // units that are looked at together
// Up to so many special characters of ASCII are compared with each unit of a block; where there are more, the unit's value
// is looked up.
constexpr size_t kFew = 4;
constexpr size_t kMoreRoom = 256;  // bytes, for what a normalizer adds to a text
constexpr size_t kFar = 64;  // characters after which looking for a token is work that callers do not count

// Two readers of text, for units that are code points and for UTF-8. `next` returns the code point at a place and moves
// the place after it.
template <class Unit>
struct Points {
  const Unit* units;
  size_t size;

  uint32_t next(size_t& at) const { return units[at++]; }
  // Whether a token whose code points are at a place is there, and where it ends.
  template <class Token>
  bool has_at(size_t at, const Token& token, size_t* end) const {
    *end = at + token.points.size();
    return true;
  }
};

struct Utf8 {
  const uint8_t* units;
  size_t size;

  uint32_t next(size_t& at) const {
    const uint8_t* p = units + at;
    const uint32_t point = next_char(p, units + size);
    at = static_cast<size_t>(p - units);
    return point;
  }
  // (bytes that are not UTF-8 may be read as the same code points)
  template <class Token>
  bool has_at(size_t at, const Token& token, size_t* end) const {
    if (!view_of({units + at, size - at}).starts_with(token.utf8)) return false;
    *end = at + token.utf8.size();
    return true;
  }
};

// Says whether a block is ASCII without any of a few characters. (No early exit: compilers make wide instructions of
// it.)
template <class Unit>
bool is_plain(const Unit* units, const std::array<Unit, kFew>& few) {
  Unit found = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const Unit unit = units[i];
    found |= static_cast<Unit>((unit >= 0x80) | (unit == few[0]) | (unit == few[1]) | (unit == few[2]) | (unit == few[3]));
  }
  return found == 0;
}

// Says whether a block is ASCII whose values are all kPlain.
template <class Unit>
bool is_plain(const Unit* units, const std::array<uint8_t, 128>& values) {
  uint8_t found = 0;
  for (size_t i = 0; i < kBlock; ++i) found |= units[i] >= 0x80 ? 1 : values[units[i]];
  return found == 0;
}

}  // namespace

TextCheck::TextCheck(std::optional<NormalForm> form, std::vector<uint32_t> refused) : form_(form), refused_(std::move(refused)) {}

void TextCheck::add_token(Bytes utf8, uint32_t id) {
  if (utf8.empty()) return;
  Token token{{}, std::string(view_of(utf8)), id};
  for (const uint8_t *p = utf8.data(), *end = p + utf8.size(); p < end;) token.points.push_back(next_char(p, end));
  const uint32_t first = token.points[0];
  if (first < 128) {
    if (token.points.size() > 1 && token.points[1] < 128) pairs_[first].set(token.points[1]);
    else pairs_[first].set();
  }
  tokens_[first].push_back(std::move(token));
}

void TextCheck::sort_tokens() {
  for (auto& [first, tokens] : tokens_) {
    std::stable_sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.points < b.points; });
    const auto are_equal = [](const Token& a, const Token& b) { return a.points == b.points; };
    tokens.erase(std::unique(tokens.begin(), tokens.end(), are_equal), tokens.end());
  }
  special_ascii_.clear();
  for (uint8_t c = 0; c < 128; ++c) {
    ascii_[c] = find_value(c);
    if (ascii_[c] != kPlain) special_ascii_.push_back(c);
  }
}

bool TextCheck::is_refused(uint32_t point) const {
  const auto after = std::upper_bound(refused_.begin(), refused_.end(), point);
  // the first of a range is before what is in it, and the last of a range only where that is the character itself
  return (after - refused_.begin()) % 2 != 0 || (after != refused_.begin() && after[-1] == point);
}

// Finds out what a code point is. Surrogates are in no text that can be encoded.
uint8_t TextCheck::find_value(uint32_t point) const {
  uint8_t found = form_ ? form_value(*form_, point) : uint8_t{kPlain};
  if (point - 0xD800 < 0x800 || is_refused(point)) found = kRefused;
  if (!tokens_.contains(point)) return found;
  return found == kPlain ? kBegins : kBeginsRefused;
}

// Returns the longest token at a place and where it ends; null where there is none. With each character fewer tokens
// are left, which are neighbours, as all are in order.
template <class Reader>
const TextCheck::Token* TextCheck::token_at(const Reader& text, size_t at, size_t* end) const {
  if (text.units[at] < 128 && text.size - at > 1 && text.units[at + 1] < 128 &&
      !pairs_[text.units[at]][text.units[at + 1]])
    return nullptr;
  size_t after = at;
  const auto candidates = tokens_.find(text.next(after));
  if (candidates == tokens_.end()) return nullptr;
  const Token* longest = nullptr;
  const Token *from = candidates->second.data(), *to = from + candidates->second.size();
  size_t depth = 1;
  for (; from < to; ++depth) {
    if (from->points.size() == depth) {
      if (text.has_at(at, *from, end)) longest = from;
      ++from;
    }
    if (from == to || after == text.size) break;
    const uint32_t point = text.next(after);
    from = std::partition_point(from, to, [&](const Token& token) { return token.points[depth] < point; });
    to = std::partition_point(from, to, [&](const Token& token) { return token.points[depth] == point; });
  }
  if (depth > kFar) [[unlikely]] work_done(4 * depth);
  return longest;
}

// Calls visit(begin, end, id) for each token, for refused characters (kNoToken) and for characters that a normalizer
// may change (kRun), in order, until it returns false. Blocks of plain ASCII are passed over; in any other block each
// character is looked at. Where one is changing or refused, the characters after it that are not plain go with it, and
// so does the plain character before it, which it may be joined to.
template <class Reader, class Visit>
void TextCheck::visit_units(const Reader& text, const Visit& visit) const {
  using Unit = std::remove_const_t<std::remove_pointer_t<decltype(text.units)>>;
  std::array<Unit, kFew> few;
  few.fill(special_ascii_.empty() ? 0x80 : special_ascii_[0]);
  const bool are_few = special_ascii_.size() <= kFew;
  for (size_t i = 0; are_few && i < special_ascii_.size(); ++i) few[i] = special_ascii_[i];

  size_t floor = 0;       // the end of the last token or run
  size_t last_plain = 0;  // where the last plain character begins, or `floor`
  uint8_t mark = 0;       // the class of the mark before this character; 0: there is none
  Pace pace;
  for (size_t at = 0; at < text.size;) {
    pace.step(4);
    if (text.size - at >= kBlock && (are_few ? is_plain(text.units + at, few) : is_plain(text.units + at, ascii_))) {
      at += kBlock;
      last_plain = at - 1;
      mark = 0;
      continue;
    }
    const size_t stop = text.size - at < kBlock ? text.size : at + kBlock;
    while (at < stop) {
      size_t next = at;
      const uint32_t point = text.next(next);
      const uint8_t kind = point < 0x80 ? ascii_[point] : value(point);
      if (kind == kPlain) [[likely]] {
        last_plain = at;
        at = next;
        mark = 0;
        continue;
      }
      size_t end;
      if (kind == kBegins || kind == kBeginsRefused) {
        if (const Token* token = token_at(text, at, &end)) {
          if (!visit(at, end, token->id)) return;
          at = floor = last_plain = end;
          mark = 0;
          continue;
        }
        if (kind == kBegins) {
          last_plain = at;
          at = next;
          mark = 0;
          continue;
        }
      } else if (kind < kChanging && kind >= mark) {
        mark = kind;
        at = next;
        continue;
      }
      bool is_refused = kind >= kBegins;
      for (end = next; end < text.size; pace.step()) {  // the characters after it that go with it
        size_t after = end, unused;
        const uint32_t other = text.next(after);
        const uint8_t also = other < 0x80 ? ascii_[other] : value(other);
        if (also == kPlain || also == kBegins || (also == kBeginsRefused && token_at(text, end, &unused))) break;
        is_refused |= also > kBegins;
        end = after;
      }
      if (!visit(std::max(last_plain, floor), end, is_refused ? kNoToken : kRun)) return;
      at = last_plain = floor = end;
      mark = 0;
    }
  }
}

template <class Visit>
void TextCheck::visit(const Text& text, const Visit& visit) const {
  if (text.size == 0) return;
  if (text.is_utf8) return visit_units(Utf8{static_cast<const uint8_t*>(text.data), text.size}, visit);
  switch (text.unit) {
    case 1: return visit_units(Points<uint8_t>{static_cast<const uint8_t*>(text.data), text.size}, visit);
    case 2: return visit_units(Points<uint16_t>{static_cast<const uint16_t*>(text.data), text.size}, visit);
    default: return visit_units(Points<uint32_t>{static_cast<const uint32_t*>(text.data), text.size}, visit);
  }
}

// Calls visit(code point) for each character of a text.
template <class Visit>
void TextCheck::each_point(const Text& text, const Visit& visit) {
  const auto each = [&](const auto& reader) {
    for (size_t at = 0; at < reader.size;) visit(reader.next(at));
  };
  if (text.is_utf8) return each(Utf8{static_cast<const uint8_t*>(text.data), text.size});
  switch (text.unit) {
    case 1: return each(Points<uint8_t>{static_cast<const uint8_t*>(text.data), text.size});
    case 2: return each(Points<uint16_t>{static_cast<const uint16_t*>(text.data), text.size});
    default: return each(Points<uint32_t>{static_cast<const uint32_t*>(text.data), text.size});
  }
}

// Normalizes a run; returns whether that changes it.
bool TextCheck::normalize(const Text& run, std::vector<FormChar>& made) const {
  made.clear();
  FormMaker maker(form_.value_or(NormalForm::kNfc), made);
  each_point(run, [&](uint32_t point) { maker.add(point); });
  maker.finish();
  size_t same = 0;
  bool is_same = true;
  each_point(run, [&](uint32_t point) { is_same = is_same && same < made.size() && made[same++].point == point; });
  return !is_same || same != made.size();
}

TextCheck::Verdict TextCheck::read(const Text& text, ByteBuffer& out) const {
  bool is_fine = true;
  size_t copied = 0;  // units of the text that are in `out` already, rewritten or not; 0: nothing has changed so far
  std::vector<FormChar> made;
  // Few texts become much longer, and room that is not used costs nothing.
  const auto add = [&](size_t begin, size_t end) {
    if (out.size() == 0) out.reserve(text.size * (text.unit == 1 ? 1 : 3) + kMoreRoom);
    if (text.is_utf8) {
      append(view_of(text.part(begin, end).bytes()), &out);
      return true;
    }
    const size_t more = to_utf8(text.part(begin, end), out.reserve((end - begin) * kMostUtf8));
    if (more != kSurrogate) out.commit(more);
    return more != kSurrogate;
  };
  out.clear();
  visit(text, [&](size_t begin, size_t end, uint32_t id) {
    is_fine = id == kRun;
    if (!is_fine || !normalize(text.part(begin, end), made)) return is_fine;
    const auto is_bad = [&](const FormChar& c) { return is_refused(c.point); };
    is_fine = std::none_of(made.begin(), made.end(), is_bad) && add(copied, begin);
    if (!is_fine) return false;
    uint8_t* const first = out.reserve(made.size() * kMostUtf8);
    uint8_t* to = first;
    for (const FormChar& c : made) to = put_char(c.point, to);
    out.commit(static_cast<size_t>(to - first));
    copied = end;
    return true;
  });
  if (!is_fine) return Verdict::kRefused;
  if (copied == 0) return Verdict::kFine;
  return add(copied, text.size) ? Verdict::kRewritten : Verdict::kRefused;
}

std::vector<TextCheck::Match> TextCheck::find(const Text& text) const {
  std::vector<Match> found;
  visit(text, [&](size_t begin, size_t end, uint32_t id) {
    const size_t floor = found.empty() ? 0 : found.back().end;
    if (id == kNoToken && end > floor) {
      begin = begin > floor ? floor + last_cut(text.part(floor, text.size), begin - floor) : floor;
      end = next_cut(text, end);
      if (!found.empty() && found.back().id == kNoToken && begin == floor) found.back().end = end;
      else found.push_back({begin, end, id});
    } else if (id < kRun) {
      found.push_back({begin, end, id});
    }
    return true;
  });
  return found;
}

std::vector<uint64_t> TextCheck::breaks(const Text& text) const {
  std::vector<uint64_t> found{0, 0};
  uint64_t moved = 0;  // by how many characters the normalized text is longer so far (modulo 2^64)
  std::vector<FormChar> made;
  visit(text, [&](size_t begin, size_t end, uint32_t id) {
    if (id != kRun || !normalize(text.part(begin, end), made)) return true;
    uint64_t at = begin, place = begin + moved;  // the next character that is replaced, and by which
    for (const FormChar& c : made) {
      found.insert(found.end(), {place++, c.change <= 0 || at == begin ? at : at - 1});
      at += c.change <= 0 ? static_cast<uint64_t>(1 - c.change) : 0;
    }
    moved = place - end;
    found.insert(found.end(), {place, end});
    return true;
  });
  return found;
}

}  // namespace tokcli
