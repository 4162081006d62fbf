// Applying normalizers of characters: see character_steps.h.
#include "characters/character_steps.h"

#include <algorithm>
#include <array>
#include <string>

#include "input/valid_utf8.h"
#include "text/text.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

// Changes a text as aligned.py's transform does: a character that replaces others has the place of the first of them, and one
// that is added the place of the character before it that was replaced.
void transform(const std::vector<FormChar>& made, std::vector<PlacedChar>& text) {
  std::vector<PlacedChar> out;
  out.reserve(made.size());
  size_t at = 0;
  for (const FormChar& c : made) {
    const size_t from = c.change > 0 && at > 0 ? at - 1 : at;
    out.push_back({c.point, from < text.size() ? text[from].origin : text.empty() ? 0 : text.back().origin});
    if (c.change <= 0) at += 1 + static_cast<size_t>(-int64_t{c.change});
  }
  text.swap(out);
}

void to_form(NormalForm form, std::vector<PlacedChar>& text) {
  std::vector<FormChar> made;
  FormMaker maker(form, made);
  for (const PlacedChar& c : text) maker.add(c.point);
  maker.finish();
  transform(made, text);
}

// Calls change(character, out) for each character.
template <class Change>
void each(std::vector<PlacedChar>& text, const Change& change) {
  std::vector<PlacedChar> out;
  out.reserve(text.size());
  Pace pace;
  for (const PlacedChar& c : text) {
    pace.step();
    change(c, out);
  }
  text.swap(out);
}

template <class Is>
void drop(std::vector<PlacedChar>& text, const Is& is) {
  std::erase_if(text, [&](const PlacedChar& c) { return is(c.point); });
}
template <class Is>
void to_spaces(std::vector<PlacedChar>& text, const Is& is) {
  for (PlacedChar& c : text) c.point = is(c.point) ? ' ' : c.point;
}

bool is_dropped_by_nmt(uint32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}
bool is_space_to_nmt(uint32_t c) {
  return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

bool is_jamo(uint32_t c) {
  return (c >= 0x1100 && c < 0x1200) || (c >= 0xA960 && c < 0xA980) || (c >= 0xD7B0 && c < 0xD800);
}

// Returns the end of the cluster of characters that begins at `at`, as classes.py's `clusters` has them.
size_t cluster_end(const std::vector<PlacedChar>& text, size_t at) {
  const size_t size = text.size();
  if (text[at].point == '\r' && at + 1 < size && text[at + 1].point == '\n') return at + 2;
  if (is_of(text[at].point, kClusterControl)) return at + 1;
  while (at < size && is_of(text[at].point, kPrepend)) ++at;
  if (at < size && !is_of(text[at].point, kClusterControl)) ++at;
  while (at < size && is_of(text[at].point, kExtend)) ++at;
  return at;
}

}  // namespace

CharacterSteps::Outcome CharacterSteps::apply(std::vector<PlacedChar>& text, bool is_whole) const {
  for (const CharacterStep& step : steps) {
    const Outcome outcome = apply_one(step, text, is_whole);
    if (outcome != Outcome::kDone) return outcome;
  }
  return Outcome::kDone;
}

CharacterSteps::Outcome CharacterSteps::apply_one(const CharacterStep& step, std::vector<PlacedChar>& text, bool is_whole) const {
  switch (step.kind) {
    case CharacterStep::Kind::kForm: to_form(static_cast<NormalForm>(step.which), text); break;
    case CharacterStep::Kind::kLower:
      each(text, [](const PlacedChar& c, std::vector<PlacedChar>& out) {
        out.push_back({lower_of(c.point), c.origin});
        if (c.point == kCapitalIWithDot) out.push_back({kDotAbove, c.origin});
      });
      break;
    case CharacterStep::Kind::kWithout:
      drop(text, [&](uint32_t c) { return is_of(c, static_cast<CharacterClass>(step.which)); });
      break;
    case CharacterStep::Kind::kNmt:
      drop(text, is_dropped_by_nmt);
      to_spaces(text, is_space_to_nmt);
      break;
    case CharacterStep::Kind::kClean:
      drop(text, [](uint32_t c) { return is_of(c, kBertControl); });
      to_spaces(text, [](uint32_t c) { return is_of(c, kWhiteSpace); });
      break;
    case CharacterStep::Kind::kChinese:
      each(text, [](const PlacedChar& c, std::vector<PlacedChar>& out) {
        const bool is_chinese = is_of(c.point, kChinese);
        if (is_chinese) out.push_back({' ', c.origin});
        out.push_back(c);
        if (is_chinese) out.push_back({' ', c.origin});
      });
      break;
    case CharacterStep::Kind::kCharsmap: return apply_charsmap(text, is_whole);
    case CharacterStep::Kind::kWords:
      each(text, [&](const PlacedChar& c, std::vector<PlacedChar>& out) { add_word(c.point, step.which, c.origin, out); });
      break;
  }
  return Outcome::kDone;
}

// The shortest prefix of a cluster that has a rule says what becomes of the cluster. In a long one, each character is looked up.
CharacterSteps::Outcome CharacterSteps::apply_charsmap(std::vector<PlacedChar>& text, bool is_whole) const {
  constexpr size_t kLongCluster = 6;  // bytes
  std::vector<FormChar> made;
  made.reserve(text.size());
  Outcome outcome = Outcome::kDone;
  Pace pace;
  // Replaces the characters from `from` up to `to`, whose UTF-8 this is. Returns false where there is no rule for it.
  const auto replace = [&](size_t from, size_t to, const std::string& utf8) {
    std::string_view rule;
    const Charsmap::Found found = charsmap.first(bytes_of(utf8), &rule);
    if (found == Charsmap::Found::kBroken) outcome = Outcome::kOnlyPython;
    if (found != Charsmap::Found::kRule) return false;
    int32_t left = static_cast<int32_t>(to - from);  // characters that no new one has replaced yet
    const Bytes bytes = bytes_of(rule);
    for (const uint8_t *p = bytes.data(), *const end = p + bytes.size(); p < end; --left) made.push_back({next_char(p, end), left <= 0});
    if (left <= 0) return true;
    if (!made.empty()) made.back().change -= left;
    else if (!is_whole) outcome = Outcome::kNeedsWhole;  // all places after it move, as in the library
    return true;
  };
  std::string utf8;
  const auto add = [&](uint32_t c) {
    std::array<uint8_t, kMostUtf8> bytes;
    utf8.append(view_of(Bytes{bytes.data(), put_char(c, bytes.data())}));
  };
  for (size_t at = 0; at < text.size() && outcome == Outcome::kDone;) {
    const size_t end = cluster_end(text, at);
    pace.step(end - at);
    utf8.clear();
    for (size_t i = at; i < end && utf8.size() < kLongCluster; ++i) add(text[i].point);
    if (utf8.size() < kLongCluster && replace(at, end, utf8)) {
      at = end;
      continue;
    }
    for (; at < end && outcome == Outcome::kDone; ++at) {
      utf8.clear();
      add(text[at].point);
      if (!replace(at, at + 1, utf8) && outcome == Outcome::kDone) made.push_back({text[at].point, 0});
    }
  }
  if (outcome == Outcome::kDone) transform(made, text);
  return outcome;
}

uint32_t CharacterSteps::word_kind(uint32_t point) const {
  constexpr uint32_t kLetter = UINT32_MAX;
  const auto is_before = [](const WordRange& range, uint32_t c) { return range.last < c; };
  const auto found = std::lower_bound(words.begin(), words.end(), point, is_before);
  return found != words.end() && found->first <= point ? found->kind : kLetter;
}

void CharacterSteps::add_word(uint32_t point, uint8_t which, uint32_t origin, std::vector<PlacedChar>& out) const {
  uint32_t kind = word_kind(point);
  if (which & CharacterStep::kStrips && kind != WordRange::kUnassigned) {
    std::vector<FormChar> made;
    FormMaker maker(NormalForm::kNfd, made);
    maker.add(point);
    maker.finish();
    point = made.front().point;
    kind = word_kind(point);
  }
  if (is_space(point)) return out.push_back({' ', origin});
  if (kind == WordRange::kNothing || (kind == WordRange::kMark && which & CharacterStep::kStrips)) return;
  if (which & CharacterStep::kLowers && kind != WordRange::kUnassigned) point = lower_of(point);
  if (kind == WordRange::kSign) out.push_back({' ', origin});
  out.push_back({point, origin});
  if (kind == WordRange::kSign) out.push_back({' ', origin});
}

// A character is safe for a form where what it decomposes to neither moves before the character before it nor is composed with
// it; or where all marks that might move are dropped by the next step.
bool CharacterSteps::is_safe(size_t number, uint32_t point) const {
  const CharacterStep& step = steps[number];
  if (step.kind == CharacterStep::Kind::kCharsmap) return point != '\r' && !is_of(point, kExtend) && !is_of(point, kPrepend);
  if (step.kind != CharacterStep::Kind::kForm) return true;
  const auto form = static_cast<NormalForm>(step.which);
  const bool is_compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  std::vector<FormChar> made;
  FormMaker maker(is_compatible ? NormalForm::kNfkd : NormalForm::kNfd, made);
  maker.add(point);
  maker.finish();
  const bool decomposes = form == NormalForm::kNfd || form == NormalForm::kNfkd;
  if (decomposes && number + 1 < steps.size() && steps[number + 1].kind == CharacterStep::Kind::kWithout) {
    const auto dropped = static_cast<CharacterClass>(steps[number + 1].which);
    return std::all_of(made.begin(), made.end(), [&](const FormChar& c) {
      return form_record(c.point).combining == 0 || is_of(c.point, dropped);
    });
  }
  const uint32_t first = made.front().point;
  return form_record(first).combining == 0 && form_value(NormalForm::kNfc, first) != kChanges && !is_of(first, kMarkClass) &&
         !is_jamo(first);
}

bool CharacterSteps::apply_to_one(uint32_t point, std::vector<PlacedChar>& text) const {
  text.assign(1, {point, 0});
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!std::all_of(text.begin(), text.end(), [&](const PlacedChar& c) { return is_safe(i, c.point); })) return false;
    if (apply_one(steps[i], text, true) != Outcome::kDone) return false;
  }
  return true;
}

bool CharacterSteps::moves_places() const {
  return std::any_of(steps.begin(), steps.end(), [](const CharacterStep& step) { return step.kind == CharacterStep::Kind::kCharsmap; });
}

bool CharacterSteps::fits() const {
  const auto is_after = [](const WordRange& a, const WordRange& b) { return a.last >= b.first; };
  const auto is_range = [](const WordRange& range) { return range.first <= range.last; };
  return std::all_of(steps.begin(), steps.end(), [](const CharacterStep& step) { return step.fits(); }) && charsmap.fits() &&
         std::all_of(words.begin(), words.end(), is_range) &&
         std::adjacent_find(words.begin(), words.end(), is_after) == words.end();
}

}  // namespace tokcli
