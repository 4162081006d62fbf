// Normalizers that change single characters, or a character with the marks after it (engine/pipeline/normalizers.py).
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "characters/characters.h"
#include "characters/normal_forms.h"

namespace tokcli {

// Brings a text into a form (`which` is the NormalForm), into lower case, or drops the characters of a class (`which`).
struct CharStep {
  enum class Kind : uint8_t { kForm, kLower, kWithout };
  static constexpr uint8_t kKinds = 3;
  Kind kind = Kind::kForm;
  uint8_t which = 0;
  bool fits() const { return which < (kind == Kind::kForm ? kForms : kind == Kind::kWithout ? kCharacterClasses : 1); }
};

// Appends what a step makes of a text.
void apply(const CharStep& step, Bytes in, std::string& out);

}  // namespace tokcli
