// The step of a normalizer that looks at characters: CharacterSteps, made fast. What a character becomes that its neighbours
// do not matter to is found once; only runs of others go through the steps.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/watch.h"
#include "characters/character_steps.h"
#include "stages/origins.h"

namespace tokcli {

class CharRules {
 public:
  CharRules() { ascii_.fill(kSpecial); }
  // Sets the steps, once, before anything is applied.
  CharacterSteps& steps() { return steps_; }
  void prepare();
  // Returns what a character of ASCII becomes whatever is beside it, where that is one of ASCII; else kSpecial.
  uint8_t ascii(uint8_t c) const { return ascii_[c]; }
  static constexpr uint8_t kSpecial = 0xFF;
  // Appends what a text becomes to `out`; returns false where only Python can say. `tracking` is null where places are not kept.
  bool apply(Bytes in, std::string& out, Tracking* tracking = nullptr) const;
  template <class Archive>
  void fields(Archive& archive) {
    steps_.fields(archive);
  }
  bool fits() const { return steps_.fits(); }

 private:
  // What a character becomes, in one word: its size, and the bytes, where these are few.
  using Rule = uint64_t;
  static constexpr Rule kUnsafe = 1, kLong = 2, kShort = 3;  // kShort and the size, and above them the bytes
  static constexpr Rule kDropped = kShort;  // nothing is left of it
  static constexpr size_t kMostShort = 7;
  Rule rule(uint32_t c) const {
    return found_.get(c, [this](uint32_t point) { return rule_of(point); });
  }
  Rule rule_of(uint32_t c) const;
  const uint8_t* run_end(const uint8_t* p, const uint8_t* end, Pace& pace) const;
  CharacterSteps::Outcome add_run(Bytes in, Bytes run, bool is_whole, std::string& out, Tracking* tracking) const;

  CharacterSteps steps_;
  bool moves_places_ = false;
  std::array<uint8_t, 128> ascii_;
  FoundValues<Rule> found_;
};

}  // namespace tokcli
