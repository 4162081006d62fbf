// A pattern as a program: what pretokenizers/program.py has compiled, checked, with the class of every character.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace tokcli {

// One step of a thread. kTake (a: set; c: next) takes a character of a set. kFork (a: preferred; b: other) goes on in
// two places. kCheck (a: set before; b: set after; c: next) goes on where the characters before and after a place are in
// these sets. kMatch (a: number of the alternative, from 1).
struct ProgramStep {
  enum Kind : uint32_t { kTake, kFork, kCheck, kMatch };
  uint32_t kind, a, b, c;
};

// The steps of a pattern, the sets of classes that they name, and the class of each code point. It does not change, and
// threads may share it.
class Program {
 public:
  static constexpr unsigned kEdge = 255;  // in place of a class: before the first and after the last character
  static constexpr unsigned kMostClasses = 255;
  static constexpr size_t kMostSteps = 1 << 13;
  using Set = std::array<uint8_t, 32>;  // a bit for each class

  // Returns false where the arrays do not make a program: `firsts` and `classes` are of runs of code points, `sets` and
  // `steps` the sets and steps one after another.
  bool open(std::span<const uint32_t> firsts, Bytes classes, Bytes sets, std::span<const uint32_t> steps, uint32_t start);

  const std::vector<ProgramStep>& steps() const { return steps_; }
  uint32_t start() const { return start_; }
  unsigned classes() const { return classes_; }
  bool has(uint32_t set, unsigned kind) const { return sets_[set][kind >> 3] >> (kind & 7) & 1; }
  unsigned class_of(uint32_t code_point) const { return table_[size_t{blocks_[code_point >> 8]} * 256 + (code_point & 0xFF)]; }
  // The number of what a check can tell of the character before a place: 0 at the edge; the same for classes that are in
  // the same sets.
  unsigned context_of(unsigned kind) const { return contexts_[kind]; }
  // A class with this number of a context, or kEdge.
  unsigned example_of(unsigned context) const { return examples_[context]; }
  unsigned contexts() const { return static_cast<unsigned>(examples_.size()); }
  // Whether a check depends on the character before a place.
  bool looks_back() const { return examples_.size() > 1; }

 private:
  bool fill_table(std::span<const uint32_t> firsts, Bytes classes);
  void find_contexts();

  std::vector<ProgramStep> steps_;
  std::vector<Set> sets_;
  std::vector<uint16_t> blocks_;  // of 256 code points each: the number of their block in table_
  std::vector<uint8_t> table_;
  std::array<uint8_t, 256> contexts_{};
  std::vector<uint8_t> examples_;
  uint32_t start_ = 0;
  unsigned classes_ = 0;
};

}  // namespace tokcli
