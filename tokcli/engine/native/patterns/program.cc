// Checking a program and filling its tables: see program.h.
#include "patterns/program.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tokcli {
namespace {

constexpr uint32_t kCodePoints = 0x110000, kBlock = 256;

}  // namespace

bool Program::open(std::span<const uint32_t> firsts, Bytes classes, Bytes sets, std::span<const uint32_t> steps,
                   uint32_t start) {
  if (sets.size() % sizeof(Set) || steps.size() % 4 || steps.empty() || steps.size() / 4 > kMostSteps) return false;
  sets_.resize(sets.size() / sizeof(Set));
  if (!sets.empty()) std::memcpy(sets_.data(), sets.data(), sets.size());
  const size_t count = steps.size() / 4;
  for (size_t i = 0; i < count; ++i) {
    const ProgramStep step{steps[4 * i], steps[4 * i + 1], steps[4 * i + 2], steps[4 * i + 3]};
    switch (step.kind) {
      case ProgramStep::kTake:
        if (step.a >= sets_.size() || step.c >= count) return false;
        break;
      case ProgramStep::kFork:
        if (step.a >= count || step.b >= count) return false;
        break;
      case ProgramStep::kCheck:
        if (step.a >= sets_.size() || step.b >= sets_.size() || step.c >= count) return false;
        break;
      case ProgramStep::kMatch:
        if (step.a == 0 || step.a > UINT16_MAX) return false;
        break;
      default: return false;
    }
    steps_.push_back(step);
  }
  if (start >= count) return false;
  start_ = start;
  if (!fill_table(firsts, classes)) return false;
  find_contexts();
  return true;
}

// Blocks that lie in one run of code points share a block of the table, one for each class.
bool Program::fill_table(std::span<const uint32_t> firsts, Bytes classes) {
  if (firsts.empty() || firsts.size() != classes.size() || firsts[0] != 0) return false;
  for (size_t i = 0; i < firsts.size(); ++i) {
    if (classes[i] >= kMostClasses || firsts[i] >= kCodePoints || (i && firsts[i] <= firsts[i - 1])) return false;
    classes_ = std::max(classes_, classes[i] + 1u);
  }
  std::array<int, 256> whole;
  whole.fill(-1);
  size_t run = 0;
  const auto end_of = [&](size_t i) { return i + 1 < firsts.size() ? firsts[i + 1] : kCodePoints; };
  for (uint32_t first = 0; first < kCodePoints; first += kBlock) {
    while (end_of(run) <= first) ++run;
    const bool is_whole = end_of(run) >= first + kBlock;
    if (is_whole && whole[classes[run]] >= 0) {
      blocks_.push_back(static_cast<uint16_t>(whole[classes[run]]));
      continue;
    }
    const size_t number = table_.size() / kBlock;
    if (is_whole) whole[classes[run]] = static_cast<int>(number);
    blocks_.push_back(static_cast<uint16_t>(number));
    size_t at = run;
    for (uint32_t code = first; code < first + kBlock;) {
      const uint32_t end = std::min(end_of(at), first + kBlock);
      table_.insert(table_.end(), end - code, classes[at]);
      code = end;
      if (end == end_of(at)) ++at;
    }
  }
  return true;
}

void Program::find_contexts() {
  std::vector<uint32_t> used;  // sets that a check asks about before a place
  for (const ProgramStep& step : steps_) {
    if (step.kind != ProgramStep::kCheck || std::find(used.begin(), used.end(), step.a) != used.end()) continue;
    used.push_back(step.a);
  }
  std::map<std::vector<bool>, uint8_t> known;
  const auto number_of = [&](unsigned kind) {
    std::vector<bool> in;
    for (const uint32_t set : used) in.push_back(has(set, kind));
    const auto [found, is_new] = known.emplace(std::move(in), static_cast<uint8_t>(known.size()));
    if (is_new) examples_.push_back(static_cast<uint8_t>(kind));
    return found->second;
  };
  contexts_[kEdge] = number_of(kEdge);
  for (unsigned kind = 0; kind < classes_; ++kind) contexts_[kind] = number_of(kind);
}

}  // namespace tokcli
