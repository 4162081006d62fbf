// Normalizers that look at characters, or at a character and the marks after it, on a text whose characters know where they
// come from. The specification is engine/pipeline/normalizers.py, for places aligned.py; for kWords llama_cpp/words.py.
#pragma once

#include <cstdint>
#include <vector>

#include "characters/characters.h"
#include "characters/normal_forms.h"
#include "characters/charsmap.h"

namespace tokcli {

// A character, and the byte of the text as given at which the character begins that it stands for.
struct PlacedChar {
  uint32_t point, origin;
};

// One normalizer. kForm: `which` is the NormalForm; kWithout: the CharacterClass that is dropped; kNmt and kClean: SentencePiece's
// nmt and BERT's cleaning of control characters and spaces; kChinese: BERT's spaces around ideographs; kCharsmap: the charsmap on
// clusters of characters; kWords: llama.cpp's words of BERT, `which` is kLowers and kStrips.
struct CharacterStep {
  enum class Kind : uint8_t { kForm, kLower, kWithout, kNmt, kClean, kChinese, kCharsmap, kWords };
  static constexpr uint8_t kKinds = 8, kLowers = 1, kStrips = 2;
  Kind kind = Kind::kForm;
  uint8_t which = 0;
  template <class Archive>
  void fields(Archive& archive) {
    archive.choice(kind, kKinds);
    archive.plain(which);
  }
  bool fits() const {
    const uint8_t most = kind == Kind::kForm ? kForms : kind == Kind::kWithout ? kCharacterClasses : kind == Kind::kWords ? 4 : 1;
    return which < most;
  }
};

// The characters from `first` up to `last`, and what they are to llama.cpp's words. What is in no range is a letter.
struct WordRange {
  enum Kind : uint32_t { kNothing, kMark, kSign, kUnassigned };
  uint32_t first, last, kind;
};

// The normalizers of a text, in order, and what they look up.
class CharacterSteps {
 public:
  std::vector<CharacterStep> steps;
  Charsmap charsmap;
  Table<WordRange> words;  // in order

  // kNeedsWhole: the place of a character depends on what is before this part of the text. kOnlyPython: a rule of the
  // charsmap that only Python can apply, or says what is wrong with.
  enum class Outcome : uint8_t { kDone, kNeedsWhole, kOnlyPython };
  // Applies the steps to a text, or to a part of one whose places may need the whole.
  Outcome apply(std::vector<PlacedChar>& text, bool is_whole) const;
  // Makes of `text` what one character becomes, and returns whether it becomes that beside any other such character.
  bool apply_to_one(uint32_t point, std::vector<PlacedChar>& text) const;
  // Returns whether dropping a character may move the place of the one before.
  bool moves_places() const;
  bool fits() const;
  template <class Archive>
  void fields(Archive& archive) {
    uint32_t count = static_cast<uint32_t>(steps.size());
    archive.plain(count);
    for (uint32_t i = 0; i < count; ++i) {
      if constexpr (Archive::kReads) steps.emplace_back();  // one by one: an image may be too short for them
      steps[i].fields(archive);
    }
    charsmap.fields(archive);
    archive.table(words);
  }

 private:
  Outcome apply_one(const CharacterStep& step, std::vector<PlacedChar>& text, bool is_whole) const;
  Outcome apply_charsmap(std::vector<PlacedChar>& text, bool is_whole) const;
  bool is_safe(size_t step, uint32_t point) const;
  void add_word(uint32_t point, uint8_t which, uint32_t origin, std::vector<PlacedChar>& out) const;
  uint32_t word_kind(uint32_t point) const;
};

}  // namespace tokcli
