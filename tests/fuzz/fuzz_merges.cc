// Any list of merges: where ranks are said to do what the list does, a piece has the ids that merging by the list gives it,
// whichever merges make the same token, whatever their order, and with bytes that are no token.
//
// An input: flags, the number of merges, three bytes for each: two tokens that exist by then, and where in the list the
// merge goes; then pieces of the letters a to e, each ended by any other byte.
#include <algorithm>
#include <array>

#include "bpe/ranked_merges.h"
#include "samples.h"

using namespace fuzz;
using Merge = tokcli::Vocabulary::Merge;

namespace {

constexpr std::string_view kLetters = "abcde";
constexpr uint8_t kIgnoreMerges = 1, kDropsMissing = 2, kWithoutE = 4, kBackwards = 8, kMoreTokens = 16;

struct List {
  std::vector<std::string> tokens;  // their places are their ids
  std::vector<Merge> merges;
};

List list_of(Input& input, uint8_t flags) {
  List list;
  for (const char letter : kLetters.substr(0, flags & kWithoutE ? 4 : 5)) list.tokens.emplace_back(1, letter);
  for (size_t left = input.byte() % 32; left > 0; --left) {
    const auto any = [&] { return static_cast<uint32_t>(input.byte() % list.tokens.size()); };
    const uint32_t first = any(), second = any();
    const uint8_t place = input.byte();
    const std::string both = list.tokens[first] + list.tokens[second];
    const auto is_pair = [&](const Merge& merge) { return merge[0] == first && merge[1] == second; };
    if (both.size() > 40 || std::ranges::any_of(list.merges, is_pair)) continue;
    const auto known = static_cast<uint32_t>(std::ranges::find(list.tokens, both) - list.tokens.begin());
    if (known == list.tokens.size()) list.tokens.push_back(both);
    // mostly at the end: other lists are rarely said by ranks
    const size_t at = place < 224 ? list.merges.size() : place % (list.merges.size() + 1);
    list.merges.insert(list.merges.begin() + static_cast<std::ptrdiff_t>(at), {first, second, known});
    if (flags & kMoreTokens && place % 4 == 0 && std::ranges::find(list.tokens, both + "a") == list.tokens.end())
      list.tokens.push_back(both + "a");
  }
  if (flags & kBackwards) {
    const auto last = static_cast<uint32_t>(list.tokens.size() - 1);
    std::ranges::reverse(list.tokens);
    for (Merge& merge : list.merges) merge = {last - merge[0], last - merge[1], last - merge[2]};
    std::ranges::reverse(list.merges);
  }
  return list;
}

// The definition: join the neighbours that come first in the list, the leftmost of equals, until none are in it.
Ids merge_by_list(const List& list, std::string_view piece, bool ignore_merges) {
  const auto id_of = [&](std::string_view text) {
    const auto found = std::ranges::find(list.tokens, text);
    return found == list.tokens.end() ? kNone : static_cast<uint32_t>(found - list.tokens.begin());
  };
  if (ignore_merges && id_of(piece) != kNone) return {id_of(piece)};
  Ids parts;
  for (const char letter : piece) parts.push_back(id_of({&letter, 1}));
  for (;;) {
    size_t best = list.merges.size(), at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      for (size_t order = 0; order < best; ++order) {
        const Merge& merge = list.merges[order];
        if (merge[0] == parts[i] && merge[1] == parts[i + 1]) best = order, at = i;
      }
    }
    if (best == list.merges.size()) return parts;
    parts[at] = list.merges[best][2];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const uint8_t flags = input.byte();
  const List list = list_of(input, flags);
  std::vector<tokcli::Token> table;
  for (uint32_t id = 0; id < list.tokens.size(); ++id)
    table.push_back({bytes_of(list.tokens[id]).data(), id, static_cast<uint32_t>(list.tokens[id].size())});
  const auto ranked = tokcli::rank_merges(table, list.merges, flags & kIgnoreMerges, flags & kDropsMissing);
  if (!ranked) return 0;
  tokcli::Vocabulary vocabulary;
  CLAIM(vocabulary.open(ranked->image) && vocabulary.drops_missing() == ((flags & kDropsMissing) != 0));
  tokcli::Encoder encoder(vocabulary);
  for (std::string piece; input.left > 0; piece.clear()) {
    for (uint8_t byte; input.left > 0 && kLetters.find(static_cast<char>(byte = static_cast<uint8_t>(input.byte() % 8 + 'a'))) != std::string_view::npos;)
      piece += static_cast<char>(byte);
    Ids expected = merge_by_list(list, piece, flags & kIgnoreMerges);
    const bool misses = std::erase(expected, kNone) > 0;
    tokcli::IdBuffer ids;
    const tokcli::Result result = encoder.encode_piece(bytes_of(piece), &ids);
    CLAIM(result.missing_byte == (misses && !(flags & kDropsMissing)));
    CLAIM(result.missing_byte || std::ranges::equal(expected, std::span(ids.data(), ids.size())));
  }
  return 0;
}
