// A precompiled charsmap, SentencePiece's rules for replacing text: the twin of engine/sentencepiece/charsmap.py, which
// describes the format (Darts-clone's units). It is not trusted: every index is checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/text_image.h"

namespace tokcli {

// A double array of the texts that have a rule (`units`), and what they become (`texts`, each of which ends with a
// zero).
class Charsmap {
 public:
  void open(std::vector<uint32_t> units, const std::string& texts) {
    units_ = std::move(units);
    texts_ = std::vector<char>(texts.begin(), texts.end());
  }
  template <class Archive>
  void fields(Archive& archive) {
    archive.table(units_);
    archive.table(texts_);
  }
  bool fits() const { return texts_.empty() || texts_[texts_.size() - 1] == '\0'; }
  bool is_empty() const { return units_.empty(); }
  // kBroken: the rule cuts a character in two, or is too long, or its text is not UTF-8; only Python can say what becomes
  // of it.
  enum class Found { kNone, kRule, kBroken };
  // Finds the longest rule for the text at `p`: how many bytes it replaces, and by what.
  Found longest(const uint8_t* p, const uint8_t* end, size_t* size, std::string_view* text) const;
  // Finds the shortest rule for the beginning of a text, as Hugging Face's tokenizers do: what it is replaced by.
  Found first(Bytes text, std::string_view* replacement) const;
  // Returns whether a rule begins with these two bytes, or is for the first one alone.
  bool has_rule_for(uint8_t first, uint8_t second) const { return third_bytes(first, second) != 0; }
  // Returns the third bytes of such rules: a bit for the low six bits of each; all bits where a rule has only two
  // bytes.
  uint64_t third_bytes(uint8_t first, uint8_t second) const;
  // Returns whether a text cannot be cut before a space, without looking for rules that begin far before it: one may hold
  // the space; or end with the character before it, and make nothing, or a space, which hides the other. It looks at all.
  bool spans_spaces() const;

 private:
  bool may_end_in_space(size_t at) const;
  static uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }
  Table<uint32_t> units_;
  Table<char> texts_;  // each ends with a zero
};

}  // namespace tokcli
