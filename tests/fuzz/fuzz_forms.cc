// Normal forms in any text: what comes of UTF-8 is UTF-8, a form is its own form, and a text that is said to be in a form is what
// the form makes of it.
//
// An input: a form, flags; then the text, as bytes or as numbers of characters that interact.
#include "harness.h"
#include "input/valid_utf8.h"
#include "stages/form_check.h"
#include "text/utf8.h"

using namespace fuzz;

namespace {

constexpr std::string_view kParts[] = {
    "a", "e", "\u0301", "\u0323", "\u0345", "\u0344", "\u3099", "\u304b", "\u1100", "\u1161", "\u11a8", "\uac00", "\u0f73",
    "\u09c7", "\u09be", "\u0130", "\u212b", "\ufb2c", "\u1e69", "\ufdfa", "\U0001d165", "\U0002f800", "\U000110ba", " "};

// Returns the form of a whole text, which FormCheck makes of the parts that may change.
std::string form_of(tokcli::NormalForm form, const std::string& text) {
  std::vector<tokcli::FormChar> made;
  tokcli::FormMaker maker(form, made);
  const tokcli::Bytes bytes = bytes_of(text);
  for (const uint8_t *p = bytes.data(), *end = p + bytes.size(); p < end;) maker.add(tokcli::next_char(p, end));
  maker.finish();
  std::string out;
  for (const tokcli::FormChar& c : made) {
    std::array<uint8_t, tokcli::kMostUtf8> one;
    out += chars({one.data(), static_cast<size_t>(tokcli::put_char(c.point, one.data()) - one.data())});
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4000) return 0;
  Input input{data, size};
  const auto form = static_cast<tokcli::NormalForm>(input.byte() % tokcli::kForms);
  const uint8_t flags = input.byte();
  std::string text;
  while (input.left > 0) {
    if (flags & 1) text += static_cast<char>(input.byte());
    else text += kParts[input.byte() % std::size(kParts)];
  }
  const tokcli::FormCheck check(form);
  tokcli::ByteBuffer out;
  const bool is_kept = check.keeps(bytes_of(text), out);  // (of any bytes, within their bounds)
  if (tokcli::valid_utf8(bytes_of(text)) != text.size()) return 0;
  const std::string made = form_of(form, text);
  CLAIM(tokcli::valid_utf8(bytes_of(made)) == made.size());
  CLAIM(form_of(form, made) == made);
  CLAIM(is_kept == (made == text));
  CLAIM(is_kept || chars({out.data(), out.size()}) == made);
  return 0;
}
