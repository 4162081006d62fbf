// Building the table of strings: see strings.h.
#include "models/strings.h"

#include <algorithm>
#include <bit>

namespace tokcli {

void Strings::measure() {
  mask_ = std::bit_floor(std::max<size_t>(slots_.size(), 2)) - 1;
  shift_ = static_cast<unsigned>(std::countl_zero(mask_));
}

bool Strings::build(std::string_view blob, const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> starts{0};
  starts.reserve(sizes.size() + 1);
  uint64_t at = 0;
  for (const uint32_t size : sizes) starts.push_back(static_cast<uint32_t>(at += size));
  if (at != blob.size() || at > UINT32_MAX) return false;
  blob_ = std::vector<char>(blob.begin(), blob.end());
  starts_ = std::move(starts);
  std::vector<Slot> slots(std::bit_ceil(sizes.size() * 2 + 2));
  slots_ = Table<Slot>::at(slots);
  measure();
  for (uint32_t number = 0; number < sizes.size(); ++number) {
    const Bytes text = bytes_of((*this)[number]);
    if (find(text.data(), text.size()) != kNone) return false;
    const uint64_t hash = hash_text(text.data(), text.size(), seed_);
    size_t slot = hash >> shift_;
    while (slots[slot].number != kNone) slot = (slot + 1) & mask_;
    slots[slot] = {static_cast<uint32_t>(hash), number};
  }
  slots_ = std::move(slots);
  short_texts_.build(static_cast<uint32_t>(sizes.size()), [this](uint32_t number) { return bytes_of((*this)[number]); });
  return true;
}

bool Strings::fits() const {
  if (starts_.empty() || starts_[0] != 0 || starts_[starts_.size() - 1] != blob_.size()) return false;
  if (!std::is_sorted(starts_.begin(), starts_.end()) || slots_.size() != mask_ + 1) return false;
  size_t empty = 0;
  for (const Slot& slot : slots_) {
    if (slot.number == kNone) ++empty;
    else if (slot.number >= size()) return false;
  }
  return empty > 0 && short_texts_.fits(size());
}

}  // namespace tokcli
