// The steps of a normalizer on a text or a part of one, and where a text may be cut before them: see text_model.h.
#include <algorithm>
#include <optional>
#include <utility>

#include "pipeline/text_call.h"
#include "text/utf8.h"

namespace tokcli {

void TextModel::prepare_chars() {
  chars.prepare();
  const auto& all = chars.steps().steps;
  if (all.size() == 1 && all[0].kind == CharacterStep::Kind::kForm) form.emplace(static_cast<NormalForm>(all[0].which));
}

// Returns a normalized segment, or part of one. The steps write to two texts in turn.
Bytes TextModel::normalize(Bytes segment, Ends ends, Call& call) const {
  std::string *to = &call.scratch.one, *other = &call.scratch.other;
  Origins *to_origins = &call.scratch.one_origins, *origins = &call.scratch.other_origins;  // those of `segment`
  if (call.spans != nullptr) origins->begin(static_cast<size_t>(segment.data() - call.raw.data()));
  std::optional<Tracking> tracking;
  if (model != nullptr && GrowthLimit(call.limit).is_above(segment)) call.refuse_growth();  // places in words have 31 bits
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kStrip) {
      const Bytes left = stripped(segment, step.left && ends.begin, step.right && ends.end);
      if (call.spans != nullptr) origins->drop(static_cast<size_t>(left.data() - segment.data()));
      segment = left;
      continue;
    }
    if (step.kind == Step::Kind::kChars && form) {
      if (form->keeps(segment, call.scratch.formed)) continue;
      if (call.spans == nullptr) {
        to->assign(view_of({call.scratch.formed.data(), call.scratch.formed.size()}));
        segment = bytes_of(*to);
        if (GrowthLimit(call.limit).is_above(segment)) call.refuse_growth();
        if (call.refusal.is_refused) return segment;
        std::swap(to, other);
        continue;
      }
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
        if (!replace_all(segment, step.from, step.to, call.limit, *to, kept)) call.refuse_growth();
        break;
      case Step::Kind::kSqueeze:
        if (!squeeze_spaces(segment, step.to, call.limit, *to, kept)) call.refuse_growth();
        break;
      case Step::Kind::kChars:
        if (!chars.apply(segment, *to, kept)) call.refuse();
        break;
      case Step::Kind::kSpaces:
        switch (spaces.apply(segment, ends, call.limit, *to, kept)) {
          case SpaceRules::Outcome::kDone: break;
          case SpaceRules::Outcome::kTooMuch: call.refuse_growth(); break;
          case SpaceRules::Outcome::kOnlyPython: call.refuse(); break;
        }
        break;
      case Step::Kind::kStrip: break;
    }
    segment = bytes_of(*to);
    if (GrowthLimit(call.limit).is_above(segment)) call.refuse_growth();
    if (call.refusal.is_refused) return segment;
    std::swap(to, other);
    std::swap(to_origins, origins);
  }
  if (call.spans != nullptr) call.cut_from(segment.data(), *origins);
  return segment;
}

bool TextModel::takes_parts() const {
  const auto takes_after = [&](char c) { return raw.takes_after[static_cast<uint8_t>(c)]; };
  constexpr std::string_view kBefore = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return models.which == Models::Used::kRanks && ranks.may_cut() && !ranks.puts_space && normalized.tokens.empty() &&
         !raw.spans_spaces && (steps.empty() || (form && steps.size() == 1)) &&
         std::none_of(kBefore.begin(), kBefore.end(), takes_after);
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
  if (models.which == Models::Used::kRanks) return ranks.may_cut() && right == ' ';
  if (has_classes) return groups.group_of(right) == CharacterGroups::kRemoved;
  if (has_metaspace) {
    if (prefixes_blindly) return false;
    if (metaspace_splits) return true;
    between = space;
  }
  if (whole_first != WholeFirst::kNever) return false;  // a part would be looked up as a piece
  if (word_cut == WordCut::kWherePossible) {
    const Bytes text = bytes_of(between);
    p = text.data();
    return !pairs.may_hold(left, next_char(p, p + text.size())) &&
           (!cuts_before_known || tokens.strings.find(text.data(), text.size()) != kNone);
  }
  return word_cut == WordCut::kAtSpaces && between == space;
}

}  // namespace tokcli
