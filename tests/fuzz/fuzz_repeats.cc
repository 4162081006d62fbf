// Text that repeats itself, with tokens that do so too, in any order of ranks: a piece has the ids of a slow merge, and so
// has what RepeatMerger says of it.
//
// An input: flags, the number of tokens, for each token its number of runs and those; then pieces of some runs each. A run
// is a byte: which unit is repeated, and how often.
#include <random>

#include "bpe/merging/repeats.h"
#include "samples.h"

using namespace fuzz;

namespace {

constexpr std::string_view kUnits[] = {"a", "b", "\u3000", "ab", "\u2500", "\U0001F602", "aab", "\xE3"};
constexpr uint8_t kShuffles = 1, kBackwards = 2, kWithoutB = 4;

std::string run_of(Input& input, size_t most) {
  const uint8_t byte = input.byte();
  std::string run;
  for (size_t left = 1 + (byte >> 3) * most / 31; left > 0; --left) run += kUnits[byte & 7];
  return run;
}

Ranks ranks_of(Input& input, uint8_t flags) {
  std::vector<std::string> tokens = single_bytes();
  if (flags & kWithoutB) tokens.erase(tokens.begin() + 'b');
  const auto first = static_cast<std::ptrdiff_t>(tokens.size());
  for (size_t left = input.byte() % 48; left > 0; --left) {
    std::string token;
    for (size_t runs = 1 + input.byte() % 3; runs > 0; --runs) token += run_of(input, runs > 2 ? 24 : 6);
    if (left % 4 == 0) token = token.substr(token.size() / 3);
    if (token.size() > 1 && std::ranges::find(tokens, token) == tokens.end()) tokens.push_back(token);
  }
  // shorter ones first, as where they were learnt; or in any order
  std::stable_sort(tokens.begin() + first, tokens.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::mt19937 random(input.byte());
  if (flags & kShuffles) std::shuffle(tokens.begin() + first, tokens.end(), random);
  if (flags & kBackwards) std::ranges::reverse(tokens);
  Ranks ranks;
  for (const std::string& token : tokens) ranks.emplace(token, ranks.size());
  return ranks;
}

void check_repeats(const tokcli::Vocabulary& vocabulary, const Ranks& ranks, Bytes piece) {
  tokcli::RepeatMerger merger;
  tokcli::RepeatMerger::may_repeat(piece.data(), piece.size());
  if (!merger.merge(vocabulary, piece.data(), piece.size())) return;
  const Bytes merged = piece.first(merger.bytes());
  CLAIM(merger.sure_bytes() <= merger.bytes() && merger.bytes() <= piece.size());
  if (rank_of(ranks, chars(merged)) != kNone) return;  // a slow merge looks for whole pieces first
  Ids expected, made;
  merge_slowly(ranks, chars(merged), expected);
  const auto& cells = merger.cells();
  for (size_t i = 0; i < cells.size(); i += cells[i].width) {
    for (uint32_t left = cells[i].count; left > 0; --left) {
      for (uint32_t k = 0; k < cells[i].width; ++k) made.push_back(vocabulary.id_of_part(cells[i + k].part));
    }
  }
  CLAIM(made == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const uint8_t flags = input.byte();
  const Ranks ranks = ranks_of(input, flags);
  const std::vector<uint8_t> image = image_of(ranks);
  tokcli::Vocabulary vocabulary;
  CLAIM(vocabulary.open(image));
  tokcli::Encoder encoder(vocabulary);
  while (input.left > 0) {
    std::string text;
    for (size_t runs = 1 + input.byte() % 24; runs > 0 && input.left > 0 && text.size() < 600; --runs) text += run_of(input, 70);
    if (text.empty()) break;
    const std::vector<uint8_t> piece(text.begin(), text.end());  // bytes of its own, so that reading behind them is seen
    check_repeats(vocabulary, ranks, piece);
    Ids expected;
    merge_slowly(ranks, text, expected);
    tokcli::IdBuffer ids;
    const tokcli::Result result = encoder.encode_piece(piece, &ids);
    CLAIM(result.missing_byte == (std::ranges::count(expected, kNone) > 0));
    CLAIM(result.missing_byte || std::ranges::equal(expected, std::span(ids.data(), ids.size())));
  }
  return 0;
}
