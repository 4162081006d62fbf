// What characters are to normalizers: their classes and their lower case, as engine/unicode/classes.py has them, from
// generated tables (character_tables.h). Every number is a code point here, also one that Unicode does not have.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "characters/character_tables.h"

namespace tokcli {

constexpr uint32_t kAllPoints = 0x110000;

// Classes of characters, as bits of a set: those of classes.py in its order, and GCB=Control and the ideographs that
// BERT's normalizer knows.
enum CharacterClass : uint8_t {
  kMarkClass, kBertMark, kBertControl, kPunctuationClass, kNumeric, kWord, kWhiteSpace, kExtend, kPrepend,
  kClusterControl, kChinese
};
constexpr uint8_t kCharacterClasses = 11;

// Returns the set of the classes of a character.
inline uint16_t classes_of(uint32_t point) {
  if (point >= kAllPoints) return 0;
  constexpr uint32_t kSize = kCharacterBlock;
  const uint32_t group = kClassesGroup[point / (kSize * kSize)];
  const uint32_t block = kClassesBlock[group * kSize + point / kSize % kSize];
  return kClassSets[kClassesIn[block * kSize + point % kSize]];
}
inline bool is_of(uint32_t point, CharacterClass which) { return classes_of(point) >> which & 1; }

// The one character that is two in lower case: a small i, and the dot above it.
constexpr uint32_t kCapitalIWithDot = 0x130, kDotAbove = 0x307;

// Returns a character in lower case; of kCapitalIWithDot only the first of two.
inline uint32_t lower_of(uint32_t point) {
  if (point >= kFormEnd) return point;
  if (point == kCapitalIWithDot) return 'i';
  const uint32_t block = kLowerBlock[point / kCharacterBlock];
  return point + static_cast<uint32_t>(kLowerBy[kLowerIn[block * kCharacterBlock + point % kCharacterBlock]]);
}

// A value for each code point, which is found when it is first asked for. Threads may share it: what one of them finds the
// others see sooner or later, or find again. T() stands for a value that was not found yet.
template <class T>
class FoundValues {
 public:
  FoundValues() = default;
  FoundValues(const FoundValues&) = delete;
  FoundValues& operator=(const FoundValues&) = delete;
  ~FoundValues() {
    for (auto& page : pages_) delete page.load(std::memory_order_relaxed);
  }
  // Returns the value of a code point, which is find(point) as long as it is T().
  template <class Find>
  T get(uint32_t point, const Find& find) const {
    if (point >= kAllPoints) [[unlikely]] point = 0xFFFD;
    const Page* const page = pages_[point / kPage].load(std::memory_order_acquire);
    const T known = page == nullptr ? T() : (*page)[point % kPage].load(std::memory_order_relaxed);
    return known != T() ? known : keep(point, find(point));
  }

 private:
  static constexpr uint32_t kPage = 256;
  using Page = std::array<std::atomic<T>, kPage>;
  [[gnu::noinline]] T keep(uint32_t point, T value) const {
    auto& slot = pages_[point / kPage];
    Page* page = slot.load(std::memory_order_acquire);
    if (page == nullptr) {
      auto made = std::make_unique<Page>();
      if (slot.compare_exchange_strong(page, made.get(), std::memory_order_acq_rel)) page = made.release();
    }
    (*page)[point % kPage].store(value, std::memory_order_relaxed);
    return value;
  }
  mutable std::array<std::atomic<Page*>, kAllPoints / kPage> pages_{};
};

}  // namespace tokcli
