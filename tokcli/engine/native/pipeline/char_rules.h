// Normalizers that look at one character at a time, as rules for single characters: the twin of character_rules.py. The
// rules are learned from Python when a text first has a character.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/id_buffer.h"
#include "base/watch.h"
#include "pipeline/origins.h"

namespace tokcli {

constexpr uint32_t kCodePoints = 0x110000;

// A value for each code point that one was set for, and T() for all others, in pages of 256.
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
  void fields(Archive& archive) {
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

// What has to be learned from Python before a text can be encoded: then the text is tried again.
struct Needs {
  std::unordered_set<uint32_t, SeededHash> chars;    // characters whose rules are missing
  std::unordered_set<uint32_t, SeededHash> classes;  // characters whose classes are missing
  std::unordered_set<std::string, SeededHash> runs;  // runs of characters (UTF-8) that are normalized together
  void add(const Needs& other) {
    chars.insert(other.chars.begin(), other.chars.end());
    classes.insert(other.classes.begin(), other.classes.end());
    for (const std::string& run : other.runs) want_run(run);
    is_for_python |= other.is_for_python;
  }
  // Asks for a run. A text of very many is faster in Python, which normalizes it as a whole, than its runs are learned.
  void want_run(const std::string& run) {
    if (runs.size() < kMostRuns) runs.insert(run);
    else is_for_python = true;
  }
  static constexpr size_t kMostRuns = 1 << 14;  // that one text may ask for: as many as are kept
  bool is_for_python = false;            // only Python can encode this text at all
  bool empty() const { return chars.empty() && classes.empty() && runs.empty() && !is_for_python; }
};

// What a normalizer makes of single characters. Some are not safe by themselves (combining marks that are reordered,
// composed or joined to the character before them): they are asked for as a run, together with their neighbours.
class CharRules {
 public:
  CharRules() { ascii_.fill(kSpecial); }
  // Set what a character becomes, that it is not safe by itself, and what a run of characters becomes.
  void set(uint32_t c, std::string_view text);
  void set_unsafe(uint32_t c) { rules_.set(c, kUnsafe); }
  void set_run(std::string_view run, std::string_view text);
  // Sets where the characters come from that a known run becomes: bytes of the run, one for each. kNone as the only one:
  // that depends on what is around the run.
  void set_origins(std::string_view run, std::vector<uint32_t> origins);
  // A normalizer drops characters in such a way that the place of another one may change: where it may, only Python knows
  // the places.
  void set_dropping_moves() { dropping_moves_ = true; }
  // Returns what a character of ASCII becomes whatever is beside it, where that is one of ASCII; else kSpecial.
  uint8_t ascii(uint8_t c) const { return ascii_[c]; }
  static constexpr uint8_t kSpecial = 0xFF;
  // Appends what a text becomes to `out`; what is not known yet is added to `needs`. `tracking` is null where places are
  // not kept.
  void apply(Bytes in, std::string& out, Needs& needs, Tracking* tracking = nullptr) const;
  // Runs are not stored in images: they are learned again.
  template <class Archive>
  void fields(Archive& archive) {
    rules_.fields(archive);
    archive.text(texts_);
    archive.flag(dropping_moves_);
    for (uint8_t& becomes : ascii_) archive.plain(becomes);
  }
  // Returns whether every rule that was read from an image leads to text.
  bool fits() const;

 private:
  static constexpr uint32_t kUnknown = 0, kUnsafe = 1, kFirst = 2;
  static constexpr size_t kMostRunBytes = 1 << 22;
  uint32_t rule(uint32_t c, Needs& needs) const {
    const uint32_t found = rules_[c];
    if (found == kUnknown) needs.chars.insert(c);
    return found;
  }

  CodePages<uint32_t> rules_;  // kFirst + the place in `texts_` of the size and the bytes of what a character becomes
  std::string texts_;
  std::array<uint8_t, 128> ascii_;  // what a character of ASCII becomes, where that is ASCII; else kSpecial
  struct Run {
    std::string text;
    std::vector<uint32_t> origins;  // none where they are not known
  };
  const uint8_t* run_end(const uint8_t* p, const uint8_t* end, Needs& needs, Pace& pace) const;
  void add_run(Bytes run, size_t from, std::string& out, Needs& needs, Tracking* tracking) const;

  std::unordered_map<std::string, Run, SeededHash> runs_;
  size_t run_bytes_ = 0;
  bool dropping_moves_ = false;
};

}  // namespace tokcli
