// Applying rules for single characters: see char_rules.h.
#include "pipeline/char_rules.h"

#include "text/utf8.h"

namespace tokcli {

void CharRules::set(uint32_t c, std::string_view text) {
  if (text.size() > 255 || texts_.size() > UINT32_MAX / 2) {
    set_unsafe(c);
    return;
  }
  const auto place = static_cast<uint32_t>(texts_.size());
  texts_.push_back(static_cast<char>(text.size()));
  texts_ += text;
  rules_.set(c, kFirst + place);  // once the text is there, for which there may be no memory
  if (c < 128 && text.size() == 1 && static_cast<uint8_t>(text[0]) < 128) ascii_[c] = static_cast<uint8_t>(text[0]);
}

bool CharRules::fits() const {
  const auto is_rule = [&](uint32_t rule) {
    const size_t at = rule - kFirst;
    return rule < kFirst || (at < texts_.size() && at + 1 + static_cast<uint8_t>(texts_[at]) <= texts_.size());
  };
  const auto is_ascii = [](uint8_t c) { return c < 128 || c == kSpecial; };
  return rules_.all_of(is_rule) && std::all_of(ascii_.begin(), ascii_.end(), is_ascii);
}

void CharRules::set_run(std::string_view run, std::string_view text) {
  if (runs_.size() >= Needs::kMostRuns || run_bytes_ > kMostRunBytes) {
    runs_.clear();
    run_bytes_ = 0;
  }
  run_bytes_ += run.size() + text.size();
  runs_.insert_or_assign(std::string(run), Run{std::string(text), {}});
}

void CharRules::set_origins(std::string_view run, std::vector<uint32_t> origins) {
  const auto found = runs_.find(std::string(run));
  if (found != runs_.end()) found->second.origins = std::move(origins);
}

// Returns the end of a run, of which the first unsafe character ends at p: it goes on up to the first safe character that
// another safe one follows, and that character is in it.
const uint8_t* CharRules::run_end(const uint8_t* p, const uint8_t* end, Needs& needs, Pace& pace) const {
  for (bool is_unsafe = true; p < end; pace.step()) {
    const uint8_t* at = p;
    const bool is_next_unsafe = rule(next_char(at, end), needs) == kUnsafe;
    if (!is_unsafe && !is_next_unsafe) break;
    is_unsafe = is_next_unsafe;
    p = at;
  }
  return p;
}

// Appends what a run becomes, which begins at `from`.
void CharRules::add_run(Bytes run, size_t from, std::string& out, Needs& needs, Tracking* tracking) const {
  const std::string text(view_of(run));
  const auto known = runs_.find(text);
  const auto is_inside = [&](uint32_t origin) { return origin < run.size(); };
  if (known == runs_.end()) {
    needs.want_run(text);
    return;
  }
  const auto& [becomes, origins] = known->second;
  if (tracking != nullptr && !becomes.empty()) {
    if (origins.empty()) needs.want_run(text);
    else if (!std::all_of(origins.begin(), origins.end(), is_inside)) needs.is_for_python = true;
    else tracking->replaced(from, becomes, origins, out.size());
  }
  out += becomes;
}

void CharRules::apply(Bytes in, std::string& out, Needs& needs, Tracking* tracking) const {
  const uint8_t *p = in.data(), *end = p + in.size();
  const uint8_t* before = nullptr;  // the safe character before `p`, and where what it has become begins in `out`
  size_t before_out = 0;
  bool may_move = true;  // whether the place of the last character may change when the next one is dropped
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
    const uint32_t found = rule(next_char(p, end), needs);
    if (found != kUnsafe) {
      before = begin;
      before_out = out.size();
      if (found == kUnknown) continue;
      const std::string_view text(&texts_[found - kFirst + 1], static_cast<uint8_t>(texts_[found - kFirst]));
      if (tracking != nullptr) {
        if (text.empty() && may_move && dropping_moves_) needs.is_for_python = true;
        if (!text.empty()) may_move = text.size() > utf8_size(static_cast<uint8_t>(text[0]));
        tracking->replaced(static_cast<size_t>(begin - in.data()), text, out.size());
      }
      out += text;
      continue;
    }
    if (before != nullptr) {
      begin = before;
      out.resize(before_out);
      if (tracking != nullptr) tracking->cut(before_out);
    }
    p = run_end(p, end, needs, pace);
    add_run({begin, p}, static_cast<size_t>(begin - in.data()), out, needs, tracking);
    before = nullptr;
    may_move = true;
  }
}

}  // namespace tokcli
