// Decomposing, putting marks in order, and composing: see normal_forms.h.
#include "characters/normal_forms.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace tokcli {
namespace {

// Syllables of Hangul, which are composed of a first consonant, a vowel and maybe a last consonant.
constexpr uint32_t kFirstSyllable = 0xAC00, kFirstL = 0x1100, kFirstV = 0x1161, kBeforeT = 0x11A7;
constexpr uint32_t kLs = 19, kVs = 21, kTs = 28, kSyllables = kLs * kVs * kTs;

// Returns the character that two are composed to; 0 where there is none.
uint32_t composed(uint32_t first, uint32_t second) {
  if (first - kFirstL < kLs && second - kFirstV < kVs)
    return kFirstSyllable + ((first - kFirstL) * kVs + (second - kFirstV)) * kTs;
  const uint32_t syllable = first - kFirstSyllable, last = second - kBeforeT;
  if (syllable < kSyllables && syllable % kTs == 0 && last - 1 < kTs - 1) return first + last;
  if (form_value(NormalForm::kNfc, second) != kChanges) return 0;
  const auto is_before = [](const ComposedPair& pair, const std::array<uint32_t, 2>& halves) {
    return pair.first != halves[0] ? pair.first < halves[0] : pair.second < halves[1];
  };
  const std::array<uint32_t, 2> halves{first, second};
  const auto* const found = std::lower_bound(std::begin(kComposedPairs), std::end(kComposedPairs), halves, is_before);
  const bool is_there = found != std::end(kComposedPairs) && found->first == first && found->second == second;
  return is_there ? found->composed : 0;
}

}  // namespace

void FormMaker::add(uint32_t point) {
  pace_.step(4);
  const FormRecord& record = form_record(point);
  const uint32_t place = is_compatible_ ? record.compatible : record.canonical;
  if (place == 0) return put({point, 0}, record.combining);
  if (place == kHangul) {
    const uint32_t syllable = point - kFirstSyllable;
    put({kFirstL + syllable / (kVs * kTs), 0}, 0);
    put({kFirstV + syllable / kTs % kVs, 1}, 0);
    if (syllable % kTs != 0) put({kBeforeT + syllable % kTs, 1}, 0);
    return;
  }
  const uint16_t* units = &kFormUnits[place];
  const uint16_t count = *units++;
  for (uint16_t i = 0; i < count; ++i) {
    uint32_t part = *units++;
    if (part - 0xD800 < 0x400) part = 0x10000 + ((part - 0xD800) << 10) + (*units++ - 0xDC00u);
    put({part, i > 0}, form_record(part).combining);
  }
}

void FormMaker::finish() {
  settle();
  if (has_starter_) out_.push_back(starter_);
  for (const Mark& mark : marks_) out_.push_back(mark.made);
  marks_.clear();
  has_starter_ = false;
}

// Takes a character that is decomposed.
void FormMaker::put(FormChar made, uint8_t combining) {
  if (combining != 0) {
    marks_.push_back({made, combining});
    return;
  }
  settle();
  if (has_starter_ && marks_.empty()) {
    if (const uint32_t both = composed(starter_.point, made.point)) {
      starter_ = {both, starter_.change + made.change - 1};
      return;
    }
  }
  if (has_starter_) out_.push_back(starter_);
  for (const Mark& mark : marks_) out_.push_back(mark.made);
  marks_.clear();
  has_starter_ = composes_;
  if (composes_) starter_ = made;
  else out_.push_back(made);
}

// Puts the marks in order, and composes those with the starter that nothing keeps from it.
void FormMaker::settle() {
  if (marks_.empty()) return;
  sort_marks();
  if (!has_starter_) return;
  size_t kept = 0;
  for (const Mark& mark : marks_) {
    if (kept == 0 || marks_[kept - 1].combining < mark.combining) {
      if (const uint32_t both = composed(starter_.point, mark.made.point)) {
        starter_ = {both, starter_.change + mark.made.change - 1};
        continue;
      }
    }
    marks_[kept++] = mark;
  }
  marks_.resize(kept);
}

// Sorts the marks by their classes; those of the same class stay in order.
void FormMaker::sort_marks() {
  const auto is_lower = [](const Mark& a, const Mark& b) { return a.combining < b.combining; };
  if (std::is_sorted(marks_.begin(), marks_.end(), is_lower)) return;
  std::array<size_t, 257> places{};  // where the next mark of each class goes
  for (const Mark& mark : marks_) ++places[mark.combining + 1u];
  for (size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  other_.resize(marks_.size());
  for (const Mark& mark : marks_) other_[places[mark.combining]++] = mark;
  marks_.swap(other_);
}

}  // namespace tokcli
