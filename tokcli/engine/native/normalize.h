// What becomes of text before a model sees it: rules for single characters, texts in place of others, SentencePiece's.
// The rules are those of normalizer.py, spm_normalizer.py, charsmap.py and llama_models.py.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trie.h"

namespace tokcli {

constexpr uint32_t kCodePoints = 0x110000;

// A value for each code point that was asked for; T() for the others.
template <class T>
class CodePages {
 public:
  T operator[](uint32_t c) const {
    const auto& page = pages_[(c < kCodePoints ? c : 0xFFFD) >> 8];
    return page ? (*page)[c & 0xFF] : T();
  }
  void set(uint32_t c, T value) {
    if (c >= kCodePoints) return;
    auto& page = pages_[c >> 8];
    if (!page) page = std::make_unique<std::array<T, 256>>();
    (*page)[c & 0xFF] = value;
  }
  template <class Archive>
  void parts(Archive& archive) {
    for (uint32_t number = 0; number < pages_.size(); ++number) {
      bool is_there = pages_[number] != nullptr;
      archive.flag(is_there);
      if (!is_there) continue;
      for (uint32_t i = 0; i < 256; ++i) {
        T value = (*this)[number << 8 | i];
        archive.plain(value);
        if constexpr (Archive::kReads) set(number << 8 | i, value);
      }
    }
  }
  template <class Is>
  bool all_of(const Is& is) const {
    return std::all_of(pages_.begin(), pages_.end(),
                       [&](const auto& page) { return !page || std::all_of(page->begin(), page->end(), is); });
  }

 private:
  std::array<std::unique_ptr<std::array<T, 256>>, (kCodePoints >> 8)> pages_;
};

// What has to be known before a text can be encoded; Python says it, and the text is tried again.
struct Needs {
  std::unordered_set<uint32_t> chars, classes;
  std::unordered_set<std::string> runs;
  bool is_for_python = false;  // only Python can do this text at all
  bool empty() const { return chars.empty() && classes.empty() && runs.empty() && !is_for_python; }
};

// What single characters become. Some are not safe by themselves (marks that are put in order, composed, joined to what
// stands before them): they, and their neighbours with them, are asked for as a run.
class CharRules {
 public:
  CharRules() { ascii_.fill(kSpecial); }
  void set(uint32_t c, std::string_view text);
  void set_unsafe(uint32_t c) { rules_.set(c, kUnsafe); }
  void set_run(std::string_view run, std::string_view text);
  void apply(Bytes in, std::string& out, Needs& needs) const;
  template <class Archive>
  void parts(Archive& archive) {  // runs are learned again
    rules_.parts(archive);
    archive.text(texts_);
    for (uint8_t& becomes : ascii_) archive.plain(becomes);
  }
  bool fits() const;

 private:
  static constexpr uint32_t kUnasked = 0, kUnsafe = 1, kFirst = 2;
  static constexpr uint8_t kSpecial = 0xFF;
  static constexpr size_t kMostRuns = 1 << 14, kMostRunBytes = 1 << 22;
  uint32_t rule(uint32_t c, Needs& needs) const {
    const uint32_t found = rules_[c];
    if (found == kUnasked) needs.chars.insert(c);
    return found;
  }

  CodePages<uint32_t> rules_;  // kFirst + where in the texts its size and bytes stand
  std::string texts_;
  std::array<uint8_t, 128> ascii_;  // characters that become one of ASCII, by themselves
  std::unordered_map<std::string, std::string> runs_;
  size_t run_bytes_ = 0;
};

// SentencePiece's rules in a blob, as charsmap.py reads it.
class Charsmap {
 public:
  void open(std::vector<uint32_t> units, const std::string& texts) {
    units_ = std::move(units);
    texts_ = std::vector<char>(texts.begin(), texts.end());
  }
  template <class Archive>
  void parts(Archive& archive) {
    archive.table(units_);
    archive.table(texts_);
  }
  bool fits() const { return texts_.empty() || texts_[texts_.size() - 1] == '\0'; }
  bool is_empty() const { return units_.empty(); }
  enum class Found { kNone, kRule, kOdd };  // kOdd: what Python would have to make text of
  // The longest rule for what stands at `p`.
  Found longest(const uint8_t* p, const uint8_t* end, size_t* size, std::string_view* text) const;
  // Whether a rule begins with these two bytes, or is the first one alone.
  bool concerns(uint8_t first, uint8_t second) const { return going_on(first, second) != 0; }
  // The bytes with which such rules go on, a bit for the low six bits of each; all where one ends before.
  uint64_t going_on(uint8_t first, uint8_t second) const;

 private:
  static uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }
  Table<uint32_t> units_;
  Table<char> texts_;  // each ends with a zero
};

// SentencePiece's normalizer, and that of llama.cpp's T5.
struct SpaceRules {
  Charsmap charsmap;
  Trie kept;  // symbols that no rule touches
  bool has_kept = false;
  bool add_prefix = true, trim = true, as_suffix = false;
  bool is_llama = false;  // llama.cpp's: beginnings of kept symbols are kept too, and a space is put before each word
  std::string space;

  void prepare();
  template <class Archive>
  void parts(Archive& archive) {
    charsmap.parts(archive);
    kept.parts(archive);
    for (bool* flag : {&has_kept, &add_prefix, &trim, &as_suffix, &is_llama}) archive.flag(*flag);
    archive.text(space);
    if (Archive::kReads && fits()) prepare();
  }
  bool fits() const { return charsmap.fits() && kept.fits(kNothing); }
  // false: only Python can do it
  bool apply(Bytes in, std::string& out) const { return is_llama ? as_llama(in, out) : as_sentencepiece(in, out); }

 private:
  bool as_sentencepiece(Bytes in, std::string& out) const;
  bool as_llama(Bytes in, std::string& out) const;
  bool next_part(const uint8_t*& p, const uint8_t* end, std::string_view& part) const;
  size_t kept_size(const uint8_t* p, const uint8_t* end) const;
  size_t plain_size(const uint8_t* p) const;

  std::array<std::array<bool, 128>, 128> is_plain_{};  // a character of ASCII before another one is as it is
  bool has_plain_ = false;  // so are all that are seen, and the space
  // Characters of several bytes, by the first two: before which bytes they are as they are, a bit for six bits of the third.
  std::array<std::array<uint64_t, 64>, 64> plain_before_{};
};

// One step of a normalizer.
struct Step {
  enum class Kind { kPrepend, kReplace, kSqueeze, kChars, kStrip, kSpaces };
  Kind kind = Kind::kPrepend;
  std::string from, to;  // kSqueeze: two or more spaces become `to`
  bool left = false, right = false;
  template <class Archive>
  void parts(Archive& archive) {
    archive.choice(kind, 6);
    archive.text(from);
    archive.text(to);
    archive.flag(left);
    archive.flag(right);
  }
  bool fits() const { return kind != Kind::kReplace || !from.empty(); }
};

void replace_all(Bytes in, std::string_view from, std::string_view to, std::string& out);
void squeeze_spaces(Bytes in, std::string_view to, std::string& out);
Bytes stripped(Bytes text, bool left, bool right);

}  // namespace tokcli
