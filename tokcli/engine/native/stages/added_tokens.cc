// Setting added tokens: see added_tokens.h.
#include "stages/added_tokens.h"

#include <numeric>

namespace tokcli {

void AddedTokens::build(const std::vector<std::string_view>& texts, std::vector<AddedToken> given) {
  tokens = std::move(given);
  std::vector<uint32_t> numbers(texts.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  trie.build(texts, numbers);
  for (size_t i = 0; i < texts.size(); ++i) {
    begins.add(static_cast<uint8_t>(texts[i].front()));
    takes_after[static_cast<uint8_t>(texts[i].back())] |= tokens[i].right;
    for (const std::string_view space : {" ", "\u2581"})
      spans_spaces |= texts[i].find(space, tokens[i].single_word ? 0 : 1) != std::string_view::npos;
  }
}

}  // namespace tokcli
