// Of many texts, the longest one that is at a place of another text: the twin of engine/base/longest_match.py.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "models/trie.h"
#include "text/byte_set.h"

namespace tokcli {

class LongestMatch {
 public:
  explicit LongestMatch(const std::vector<std::string_view>& texts);
  // Returns where texts begin and end, two numbers for each, from left to right without overlaps, at each place the
  // longest; at most `most` of them.
  std::vector<uint64_t> find(Bytes data, size_t most) const;
  // Returns three numbers for each, all of them: the third is that of the text in `numbers`, which has one for each text.
  std::vector<uint64_t> find_numbered(Bytes data, const std::vector<uint64_t>& numbers) const;
  size_t size() const { return size_; }  // the number of texts

 private:
  template <class Visit>
  void each(Bytes data, const Visit& visit) const;
  Trie trie_;
  size_t size_;
  ByteSet begins_;    // the bytes that texts begin with
  std::string pair_;  // the two bytes that all texts begin with, if they do
};

}  // namespace tokcli
