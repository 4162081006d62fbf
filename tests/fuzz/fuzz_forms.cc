// Normal forms, lower case and dropping of characters, in any text: what comes of UTF-8 is UTF-8, a form is its own form, and
// the check for shortcuts makes the same of a text, whatever its units are.
//
// An input: a step, a class, flags; then the text, as bytes or as numbers of characters that interact.
#include "characters/char_steps.h"
#include "harness.h"
#include "input/valid_utf8.h"
#include "text/text_check.h"

using namespace fuzz;
using tokcli::CharStep;

namespace {

constexpr std::string_view kParts[] = {
    "a", "e", "\u0301", "\u0323", "\u0345", "\u0344", "\u3099", "\u304b", "\u1100", "\u1161", "\u11a8", "\uac00", "\u0f73",
    "\u09c7", "\u09be", "\u0130", "\u212b", "\ufb2c", "\u1e69", "\ufdfa", "\U0001d165", "\U0002f800", "\U000110ba", " "};

std::string applied(const CharStep& step, std::string_view text) {
  std::string made;
  apply(step, bytes_of(text), made);
  return made;
}

void check_form(tokcli::NormalForm form, const std::string& text, const std::string& made, bool refuses) {
  tokcli::TextCheck check(form, refuses ? std::vector<uint32_t>{'a', 'e', 0x300, 0x301} : std::vector<uint32_t>{});
  check.add_token(bytes_of("ea"), 7);
  check.sort_tokens();
  std::vector<uint32_t> units(text.size());
  const tokcli::CodePoints points = tokcli::points_in(bytes_of(text));
  tokcli::from_utf8(bytes_of(text), 0x10FFFF, units.data());
  tokcli::ByteBuffer out, other;
  const auto verdict = check.read(tokcli::Text::of(bytes_of(text)), out);
  const tokcli::Text wide{units.data(), points.count, 4, false};
  CLAIM(check.read(wide, other) == verdict);
  if (verdict == tokcli::TextCheck::Verdict::kFine) CLAIM(made == text);
  if (verdict == tokcli::TextCheck::Verdict::kRewritten) {
    CLAIM(chars({out.data(), out.size()}) == made && chars({other.data(), other.size()}) == made);
  }
  for (const auto& match : check.find(wide)) CLAIM(match.begin < match.end && match.end <= points.count);
  const auto breaks = check.breaks(wide);
  for (size_t i = 0; i < breaks.size(); i += 2) CLAIM(breaks[i + 1] <= points.count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4000) return 0;
  Input input{data, size};
  CharStep step{static_cast<CharStep::Kind>(input.byte() % CharStep::kKinds), input.byte()};
  const uint8_t flags = input.byte();
  step.which %= step.kind == CharStep::Kind::kForm ? tokcli::kForms : tokcli::kCharacterClasses;
  if (step.kind == CharStep::Kind::kLower) step.which = 0;
  CLAIM(step.fits());
  std::string text;
  while (input.left > 0) {
    if (flags & 1) text += static_cast<char>(input.byte());
    else text += kParts[input.byte() % std::size(kParts)];
  }
  const std::string made = applied(step, text);
  if (tokcli::valid_utf8(bytes_of(text)) != text.size()) return 0;
  CLAIM(tokcli::valid_utf8(bytes_of(made)) == made.size());
  CLAIM(applied(step, made) == made);
  if (step.kind == CharStep::Kind::kForm) check_form(static_cast<tokcli::NormalForm>(step.which), text, made, flags & 2);
  return 0;
}
