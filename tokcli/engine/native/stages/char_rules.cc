// Applying normalizers of characters fast: see char_rules.h.
#include "stages/char_rules.h"

#include "text/text.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

void add_char(uint32_t c, std::string& out) {
  std::array<uint8_t, kMostUtf8> bytes;
  out.append(view_of(Bytes{bytes.data(), put_char(c, bytes.data())}));
}

}  // namespace

void CharRules::prepare() {
  moves_places_ = steps_.moves_places();
  for (uint8_t c = 0; c < ascii_.size(); ++c) {
    const Rule found = rule(c);
    const auto made = static_cast<uint8_t>(found >> 8);
    ascii_[c] = (found & 0xFF) == kShort + 1 && made < 128 ? made : kSpecial;
  }
}

CharRules::Rule CharRules::rule_of(uint32_t c) const {
  std::vector<PlacedChar> made;
  if (!steps_.apply_to_one(c, made)) return kUnsafe;
  std::string text;
  for (const PlacedChar& one : made) add_char(one.point, text);
  if (text.size() > kMostShort) return kLong;
  Rule rule = kShort + text.size();
  for (size_t i = 0; i < text.size(); ++i) rule |= Rule{static_cast<uint8_t>(text[i])} << (8 * (i + 1));
  return rule;
}

// Returns the end of a run, of which the first unsafe character ends at p: it goes on up to the first safe character that
// another safe one follows, and that character is in it. Dropped characters keep no others apart, and are in it, too.
const uint8_t* CharRules::run_end(const uint8_t* p, const uint8_t* end, Pace& pace) const {
  for (bool is_unsafe = true; p < end; pace.step()) {
    const uint8_t* at = p;
    const Rule next = rule(next_char(at, end));
    if (next != kDropped) {
      if (!is_unsafe && next != kUnsafe) break;
      is_unsafe = next == kUnsafe;
    }
    p = at;
  }
  return p;
}

// Appends what a run of a text becomes.
CharacterSteps::Outcome CharRules::add_run(Bytes in, Bytes run, bool is_whole, std::string& out, Tracking* tracking) const {
  std::vector<PlacedChar> text;
  text.reserve(run.size());
  Pace pace;
  for (const uint8_t *p = run.data(), *const end = p + run.size(); p < end;) {
    const auto origin = static_cast<uint32_t>(p - in.data());
    text.push_back({next_char(p, end), origin});
    pace.step();
  }
  const CharacterSteps::Outcome outcome = steps_.apply(text, is_whole || tracking == nullptr);
  if (outcome != CharacterSteps::Outcome::kDone) return outcome;
  for (const PlacedChar& c : text) {
    const size_t at = out.size();
    add_char(c.point, out);
    if (tracking != nullptr) tracking->replaced(c.origin, std::string_view(out).substr(at), at);
    pace.step();
  }
  return outcome;
}

bool CharRules::apply(Bytes in, std::string& out, Tracking* tracking) const {
  using Outcome = CharacterSteps::Outcome;
  const auto apply_whole = [&] {
    out.clear();
    if (tracking != nullptr) tracking->cut(0);
    return add_run(in, in, true, out, tracking) == Outcome::kDone;
  };
  const uint8_t *p = in.data(), *end = p + in.size();
  // the last safe character before `p` that was not dropped, or the first that was; and where what it has become begins in `out`
  const uint8_t* before = nullptr;
  size_t before_out = 0;
  bool may_move = moves_places_;  // whether the place of the last character may change when the next one is dropped
  Pace pace;
  while (p < end) {
    pace.step();
    const uint8_t* run = p;
    while (run < end && *run < 128 && ascii_[*run] != kSpecial) ++run;
    if (run > p) {
      const size_t at = out.size();
      if (tracking != nullptr) tracking->copied(static_cast<size_t>(p - in.data()), static_cast<size_t>(run - p), at);
      may_move = false;
      out.resize(at + static_cast<size_t>(run - p));
      char* to = &out[at];
      while (p < run) *to++ = static_cast<char>(ascii_[*p++]);
      before = run - 1;
      before_out = out.size() - 1;
      continue;
    }
    const uint8_t* begin = p;
    const Rule found = rule(next_char(p, end));
    if (found >= kShort) {
      if (found != kDropped || before == nullptr) {
        before = begin;
        before_out = out.size();
      }
      const size_t size = (found & 0xFF) - kShort;
      std::array<char, kMostShort> bytes;
      for (size_t i = 0; i < kMostShort; ++i) bytes[i] = static_cast<char>(found >> (8 * (i + 1)));
      const std::string_view text(bytes.data(), size);
      if (tracking != nullptr) {
        if (text.empty() && may_move) return apply_whole();
        if (!text.empty()) may_move = moves_places_ && size > utf8_size(static_cast<uint8_t>(text[0]));
        tracking->replaced(static_cast<size_t>(begin - in.data()), text, out.size());
      }
      out += text;
      continue;
    }
    if (found == kLong) {
      before = begin;
      before_out = out.size();
      may_move = moves_places_;
      if (add_run(in, {begin, p}, true, out, tracking) != Outcome::kDone) return false;
      continue;
    }
    if (before != nullptr) {
      begin = before;
      out.resize(before_out);
      if (tracking != nullptr) tracking->cut(before_out);
    }
    p = run_end(p, end, pace);
    const Outcome outcome = add_run(in, {begin, p}, false, out, tracking);
    if (outcome == Outcome::kNeedsWhole) return apply_whole();
    if (outcome == Outcome::kOnlyPython) return false;
    before = nullptr;
    may_move = moves_places_;
  }
  return true;
}

}  // namespace tokcli
