// The groups into which pre-tokenizers sort characters: a piece ends where the group changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "characters/characters.h"
#include "text/utf8.h"

namespace tokcli {

// One of the rules. kWords: white space is removed, and the characters of words are apart from others; else those of a class, or
// one character, are removed, pieces by themselves, or apart from all others.
struct GroupRule {
  enum class Kind : uint8_t { kWords, kClass, kCharacter } kind = Kind::kWords;
  enum class Behavior : uint8_t { kRemoved, kIsolated, kContiguous } behavior = Behavior::kRemoved;
  uint32_t which = 0;  // the CharacterClass, or the character
  template <class Archive>
  void fields(Archive& archive) {
    archive.choice(kind, 3);
    archive.choice(behavior, 3);
    archive.plain(which);
  }
  bool finds(uint32_t c) const {
    if (kind == Kind::kCharacter) return c == which;
    return is_of(c, kind == Kind::kWords ? kWord : static_cast<CharacterClass>(which));
  }
};

class CharacterGroups {
 public:
  static constexpr uint8_t kRemoved = 0xFF, kIsolated = 0xFE;  // groups: in no piece; a piece by itself
  std::vector<GroupRule> rules;

  // To be called once the rules are set.
  void prepare() {
    of_bytes_.fill(kUnknown);
    for (uint8_t c = 0; c < 128; ++c) of_bytes_[c] = group_of(c);
  }
  uint8_t group_of(uint32_t c) const { return static_cast<uint8_t>(found(c)); }
  // Returns the group of the character at `p` < `end`, and moves `p` after it.
  uint8_t next_group(const uint8_t*& p, const uint8_t* end) const {
    const uint8_t group = of_bytes_[*p];
    if (group == kUnknown) return group_of(next_char(p, end));
    ++p;
    return group;
  }
  // Returns the first place in [p, end) of a character that is not of the group.
  const uint8_t* run_end(const uint8_t* p, const uint8_t* end, uint8_t group) const {
    while (true) {
      while (p < end && of_bytes_[*p] == group) ++p;
      if (p >= end || of_bytes_[*p] != kUnknown) return p;
      const uint8_t* const at = p;
      if (group_of(next_char(p, end)) != group) return at;
    }
  }
  bool is_word(uint32_t c) const { return (found(c) & kOfWord) != 0; }
  bool fits() const {
    constexpr size_t kMost = 6;  // a group has a bit for each rule, and stays below kIsolated
    const auto is_fine = [](const GroupRule& rule) { return rule.kind != GroupRule::Kind::kClass || rule.which < kCharacterClasses; };
    return rules.size() <= kMost && std::all_of(rules.begin(), rules.end(), is_fine);
  }

 private:
  static constexpr uint8_t kUnknown = 0xFD;  // for a byte that begins or continues a longer character; no group has this number
  static constexpr uint16_t kFound = 0x8000, kOfWord = 0x100;  // beside the group, which is the low byte
  uint16_t found(uint32_t c) const {
    return found_.get(c, [this](uint32_t point) { return find(point); });
  }
  uint16_t find(uint32_t c) const {
    using Behavior = GroupRule::Behavior;
    unsigned bits = 0;
    bool is_removed = false, is_isolated = false;
    for (size_t i = 0; i < rules.size(); ++i) {
      const bool is_of_words = rules[i].kind == GroupRule::Kind::kWords;
      const Behavior behavior = is_of_words ? Behavior::kContiguous : rules[i].behavior;
      const bool is_it = rules[i].finds(c);
      is_removed |= is_of_words ? is_of(c, kWhiteSpace) : is_it && behavior == Behavior::kRemoved;
      is_isolated |= is_it && behavior == Behavior::kIsolated;
      bits |= unsigned{is_it && behavior == Behavior::kContiguous} << i;
    }
    const unsigned group = is_removed ? kRemoved : is_isolated ? kIsolated : bits;
    return static_cast<uint16_t>(kFound | (is_of(c, kWord) ? kOfWord : 0) | group);
  }
  FoundValues<uint16_t> found_;
  std::array<uint8_t, 256> of_bytes_{};  // the groups of ASCII characters, which most texts have the most of
};

}  // namespace tokcli
