// The steps of a normalizer (engine/pipeline/normalizers.py), which a text goes through one after another.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "stages/growth_limit.h"
#include "stages/origins.h"

namespace tokcli {

// Whether a part of a text is its beginning, and its end.
struct Ends {
  bool begin = true, end = true;
};

// One step. kChars: CharRules; kSpaces: SpaceRules.
struct Step {
  enum class Kind { kPrepend, kReplace, kSqueeze, kChars, kStrip, kSpaces };
  Kind kind = Kind::kPrepend;
  std::string from, to;             // kPrepend: `to`; kReplace: both; kSqueeze: two or more spaces become `to`
  bool left = false, right = false;  // kStrip: the sides from which white space is removed
  template <class Archive>
  void fields(Archive& archive) {
    archive.choice(kind, 6);
    archive.text(from);
    archive.text(to);
    archive.flag(left);
    archive.flag(right);
  }
  bool fits() const { return kind != Kind::kReplace || !from.empty(); }
};

// Append a text with every `from` replaced, or with every run of two or more spaces replaced. They return false where that is
// too much, before it takes much memory. What is put in has the place of the last character that it replaces (`tracking`,
// null where places are not kept).
bool replace_all(Bytes in, std::string_view from, std::string_view to, GrowthLimit limit, std::string& out,
                 Tracking* tracking = nullptr);
bool squeeze_spaces(Bytes in, std::string_view to, GrowthLimit limit, std::string& out, Tracking* tracking = nullptr);
// Returns a text without the white space on these sides.
Bytes stripped(Bytes text, bool left, bool right);

}  // namespace tokcli
