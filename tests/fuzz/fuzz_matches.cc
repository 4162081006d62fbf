// Finding the longest of many strings at each place of a text: what is found is what is there by definition, whether the
// search has read the text forwards or backwards, and an opened image of the trie finds the same.
//
// An input: flags; how many strings there are, each with a size; then the text.
#include <algorithm>
#include <set>

#include "harness.h"
#include "models/longest_match.h"
#include "models/trie.h"

using namespace fuzz;

namespace {

struct Found {
  size_t size = 0;
  uint32_t number = kNone;
  bool operator==(const Found&) const = default;
};

Found find_slowly(const std::vector<std::string>& strings, std::string_view text) {
  Found found;
  for (size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].size() > found.size && text.starts_with(strings[i])) found = {strings[i].size(), static_cast<uint32_t>(i)};
  }
  return found;
}

void check_search(const tokcli::Trie& trie, const std::vector<Found>& expected, Bytes text, bool skips) {
  tokcli::LongestSearch search(trie, text);
  for (size_t i = 0; i < text.size();) {
    uint32_t number = kNone;
    const size_t size = search.at(text.data() + i, &number);
    CLAIM((Found{size, size > 0 ? number : kNone} == expected[i]));
    i += skips ? std::max<size_t>(size, 1) : 1;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1000) return 0;
  Input input{data, size};
  const uint8_t flags = input.byte();
  const auto letter = [&] { return static_cast<char>(flags & 1 ? 'a' + input.byte() % 2 : input.byte()); };
  std::set<std::string> distinct;
  for (size_t left = input.byte() % 32; left > 0; --left) {
    std::string string;
    for (size_t length = 1 + input.byte() % (flags & 2 ? 48 : 6); length > 0; --length) string += letter();
    distinct.insert(std::move(string));
  }
  const std::vector<std::string> strings(distinct.begin(), distinct.end());
  std::string letters;
  while (input.left > 0) letters += letter();
  const Bytes text = bytes_of(letters);

  std::vector<Found> expected;
  for (size_t i = 0; i < text.size(); ++i) expected.push_back(find_slowly(strings, chars(text.subspan(i))));
  const std::vector<std::string_view> views(strings.begin(), strings.end());
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < strings.size(); ++i) numbers.push_back(i);
  tokcli::Trie trie;
  trie.build(views, numbers);
  CLAIM(trie.fits(std::max<size_t>(strings.size(), 1)));
  check_search(trie, expected, text, false);
  check_search(trie, expected, text, true);  // with the automaton that the first search may have made
  std::vector<uint64_t> places;
  for (size_t i = 0; i < text.size(); i += std::max<size_t>(expected[i].size, 1)) {
    if (expected[i].size > 0) places.insert(places.end(), {i, i + expected[i].size});
  }
  if (!strings.empty()) CLAIM(tokcli::LongestMatch(views).find(text, SIZE_MAX) == places);
  return 0;
}
