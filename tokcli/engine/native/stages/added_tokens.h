// Added tokens: which there are, and where a text has them.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/watch.h"
#include "models/longest_match.h"
#include "models/trie.h"
#include "text/byte_set.h"
#include "text/utf8.h"

namespace tokcli {

// Archives a vector whose items have fields.
template <class Archive, class T>
void each_item(Archive& archive, std::vector<T>& items) {
  uint32_t count = static_cast<uint32_t>(items.size());
  archive.plain(count);
  for (uint32_t i = 0; i < count; ++i) {
    if constexpr (Archive::kReads) items.emplace_back();  // one by one: an image may be too short for them
    items[i].fields(archive);
  }
}

// Added tokens, which are found in a text before it is encoded (engine/pipeline/added_tokens.py).
struct AddedTokens {
  // What a call does with each token: it is not looked for, is found, or is found and taken as text.
  static constexpr uint8_t kNotFound = 0, kFound = 1, kIgnored = 2;
  // `left`, `right`: the token takes the white space on that side.
  struct AddedToken {
    uint32_t id = 0;
    bool single_word = false, left = false, right = false;
    template <class Archive>
    void fields(Archive& archive) {
      archive.plain(id);
      for (bool* flag : {&single_word, &left, &right}) archive.flag(*flag);
    }
  };
  std::vector<AddedToken> tokens;
  Trie trie;       // from texts to numbers of tokens
  ByteSet begins;  // the bytes that tokens begin with
  // Whether text may be cut before a space (or U+2581, which spaces become), so that the same tokens are found in its
  // parts: a token may hold one across the cut, look at what is before it, or, after its last byte, take it.
  bool spans_spaces = false;
  std::array<bool, 256> takes_after{};
  // Calls visit(segment, id) for each token in a text, and visit(segment, kNone) for what is between them. `states` has a
  // byte for each token; `is_word` says of a character whether it belongs to words.
  template <class IsWord, class Visit>
  void find(Bytes text, Bytes states, const IsWord& is_word, const Visit& visit) const;
  // Sets the tokens, once; each has a text that is not empty, and no two have the same.
  void build(const std::vector<std::string_view>& texts, std::vector<AddedToken> given);
  template <class Archive>
  void fields(Archive& archive) {
    each_item(archive, tokens);
    trie.fields(archive);
    for (unsigned byte = 0; byte < 256; ++byte) {
      bool begins_one = begins.has(static_cast<uint8_t>(byte));
      archive.flag(begins_one);
      if (begins_one) begins.add(static_cast<uint8_t>(byte));
    }
    archive.flag(spans_spaces);
    for (bool& takes_one : takes_after) archive.flag(takes_one);
  }
};

template <class IsWord, class Visit>
void AddedTokens::find(Bytes text, Bytes states, const IsWord& is_word_char, const Visit& visit) const {
  const uint8_t *const begin = text.data(), *const end = begin + text.size(), *at = begin;
  const uint8_t* blanks_end = begin;  // of the white space after a token that takes it: it may hold many tokens
  if (tokens.empty()) return text.empty() ? void() : visit(text, kNone);
  const auto is_word = [&](const uint8_t* p) { return is_word_char(next_char(p, end)); };
  LongestSearch search(trie, text);
  Pace pace;
  for (const uint8_t* p = begin; p < end;) {
    const uint8_t* const found = begins.find(p, end);
    pace.step(1 + static_cast<size_t>(found - p) / 8);
    if ((p = found) == end) break;
    uint32_t number;
    const size_t size = search.at(p, &number);
    if (size == 0) {
      ++p;
      continue;
    }
    const AddedToken& token = tokens[number];
    const uint8_t *first = p, *last = p + size;
    p = last;
    if (states[number] == kIgnored) continue;
    if (token.single_word &&
        ((first > begin && is_word(previous_char(first, begin))) || (last < end && is_word(last))))
      continue;
    while (token.left && first > at) {
      const uint8_t *before = previous_char(first, at), *q = before;
      if (!is_space(next_char(q, end))) break;
      first = before;
    }
    if (token.left) first = std::max(first, at);
    if (token.right && last > blanks_end) {
      for (const uint8_t* q = last; (blanks_end = q) < end && is_space(next_char(q, end));) continue;
    }
    if (token.right) last = blanks_end;
    if (at < first) visit(Bytes{at, first}, kNone);
    if (first < last) visit(Bytes{first, last}, token.id);  // else the token before has taken all of it as white space
    at = last;
  }
  if (at < end) visit(Bytes{at, end}, kNone);
}

}  // namespace tokcli
