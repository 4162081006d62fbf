// Finding pieces by masks: for every family of patterns they are the pieces that its scanner finds alone, wherever the
// text begins in a window.
//
// An input: a family, how many characters the text chooses from, these; then a byte for each character of the text.
#include <iterator>

#include "harness.h"

using namespace fuzz;

namespace {

// Characters of each class and size, and those that a pattern names. The last ones are no UTF-8.
constexpr std::string_view kChars[] = {
    // ASCII: letters, contractions, digits, white space, signs
    "a", "b", "A", "B", "s", "S", "t", "ll", "VE", "0", "1", "234", " ", "  ", "\t", "\n", "\r", "\n\n", "\v", "\x1c",
    "'", "'s", "'S", "'ll", "'r", "/", "-", ".", "!", "#", "$", "`", "\x01", "\x7f", std::string_view("\0", 1),
    // letters: lower-case, upper-case, title-case, modifiers, others; of two, three and four bytes
    "\u00e9", "\u0431", "\u1e03", "\U00010428", "\u017f", "'\u017f", "\u00c9", "\u0411", "\u1e02", "\U00010400", "\u01c5",
    "\u1f88", "\u02b0", "\u1d2c", "\U00010780", "\u00aa", "\u05d0", "\u0e01", "\u4e2d", "\u9fa5", "\u9fa6", "\u3042",
    "\uac00", "\U00020000", "\u5b57", "\u9fff", "\u3041", "\u3096", "\u30a1", "\u30ff", "\ub098", "\ucfff",
    // marks, numbers, white space, newlines of other kinds
    "\u0301", "\u093e", "\u20e3", "\ufe0f", "\U0001d165", "\u0660", "\u00b2", "\u0967", "\uff11", "\u2167", "\U0001d7ce",
    "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u3000",
    // punctuation, symbols, format characters, code points without a character
    "\u2019", "\u2019s", "\u00ab", "\u201c", "\u2014", "\u2026", "\u3002", "\uff0c", "\u060c", "\u0964", "\u30fb",
    "\u00d7", "\u20ac", "\u2192", "\U0001f600", "\u200d", "\ufeff", "\u00ad", "\U000e0041", "\u0378", "\ue000",
    "\U0010ffff", "\ufffd",
    // letters that are not all there, or are longer than they need be; surrogates; beyond Unicode; stray bytes
    "\xc3", "\xd0", "\xe4\xb8", "\xe4", "\xe5\xad", "\xe5", "\xeb", "\xf0\x9f\x98", "\xf0", "\xc0\x80", "\xc1\xa1", "\xe0\x81\x81", "\xf0\x80\x81\x81",
    "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\x80", "\xbf"};

bool same(const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  return std::ranges::equal(a, b, [](Bytes x, Bytes y) { return x.data() == y.data() && x.size() == y.size(); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const auto family = static_cast<Family>(input.byte() % tokcli::kFamilies);
  std::string_view chosen[16];
  const size_t count = 1 + input.byte() % std::size(chosen);
  for (size_t i = 0; i < count; ++i) chosen[i] = kChars[input.byte() % std::size(kChars)];
  std::string characters;
  while (input.left > 0) characters += chosen[input.byte() % count];
  const std::vector<uint8_t> text(characters.begin(), characters.end());  // so that reading behind it is seen
  const std::vector<Bytes> pieces = pieces_of(family, text, tokcli::Instructions::kPortable);
  for (const auto use : {tokcli::Instructions::kSse2, tokcli::Instructions::kAvx2, tokcli::Instructions::kAvx512}) {
    if (use <= tokcli::instructions()) CLAIM(same(pieces_of(family, text, use), pieces));
  }
  return 0;
}
