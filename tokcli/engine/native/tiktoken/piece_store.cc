// How a store takes memory, and gives it away: see piece_store.h.
#include "tiktoken/piece_store.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "base/fork.h"

namespace tokcli {

// The memory of all stores of the process: those of one call share what there is, and those of encoders that wait for a
// text lose it to others. Only steps above kOwnSteps are counted, so every store has 2 MB where it needs them.
struct AllStores {
  static constexpr size_t kMostInAll = size_t{64} << 20;
  static inline std::atomic<size_t> taken{0};
  static inline PieceStore* idle = nullptr;  // guarded by BriefLock

  static size_t counted(size_t step) { return step <= PieceStore::kOwnSteps ? 0 : PieceStore::kSteps[step].bytes(); }
  static bool take(size_t bytes) {
    size_t before = taken.load(std::memory_order_relaxed);
    while (before + bytes <= kMostInAll) {
      if (taken.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  static void give(size_t bytes) { taken.fetch_sub(bytes, std::memory_order_relaxed); }
  static void give(PieceStore::Memory& memory) {
    give(counted(memory.step));
    memory = {};
  }
  static void list(PieceStore& store) {
    store.next_ = idle;
    if (idle != nullptr) idle->previous_ = &store;
    idle = &store;
    store.is_listed_ = true;
  }
  static void unlist(PieceStore& store) {
    (store.previous_ == nullptr ? idle : store.previous_->next_) = store.next_;
    if (store.next_ != nullptr) store.next_->previous_ = store.previous_;
    store.previous_ = store.next_ = nullptr;
    store.is_listed_ = false;
  }
  // Takes the memory of a store away that is idle; returns false where there is none.
  static bool take_from_idle() {
    PieceStore::Memory memory;
    {
      const BriefLock lock;
      if (idle == nullptr) return false;
      PieceStore& store = *idle;
      unlist(store);
      memory = std::exchange(store.memory_, {});
      store.begin();
    }
    give(memory);  // without the lock: giving pages back takes a while
    return true;
  }
};

PieceStore::PieceStore() {
  begin();
  times_forgotten_ = 0;
}

PieceStore::~PieceStore() {
  {
    const BriefLock lock;
    if (is_listed_) AllStores::unlist(*this);
  }
  AllStores::give(memory_);
}

void PieceStore::set_idle(bool is_idle) noexcept {
  if (is_idle == is_listed_) return;
  if (!is_idle) AllStores::unlist(*this);
  else if (memory_.step > kOwnSteps) AllStores::list(*this);
}

void PieceStore::set_index(Bucket* buckets, unsigned bits) {
  buckets_ = buckets;
  shift_ = 32 - bits;
  mask_ = (size_t{1} << bits) - 1;
  most_ = (size_t{8} << bits) / 8 * 5;
}

void PieceStore::begin() {
  set_index(first_index_.data(), kFirstBits);
  blocks_[0] = first_arena_.data();
  room_ = kFirstBytes;
  forget();
}

void PieceStore::forget() {
  std::memset(buckets_, 0, (mask_ + 1) * sizeof(Bucket));
  count_ = used_ = 0;
  is_full_ = false;
  ++times_forgotten_;
}

// `holds` says whether an entry is that of the piece, and `write` writes its bytes, and up to kWords more.
template <class Holds, class Write>
PieceStore::Entry PieceStore::add(uint32_t tag, size_t size, const uint32_t* ids, size_t count, const Holds& holds,
                                  const Write& write) noexcept {
  Entry known;
  const bool is_known = search(tag, [&](Entry entry) {
    known = entry;
    return holds(entry);
  });
  if (is_known) return known;  // the piece is twice in a batch
  const size_t length = 2 + size + count * sizeof *ids, reach = length + kWords;
  while (!reserve(reach)) {
    if (is_full_ || !grow()) {
      is_full_ = true;
      return Entry();
    }
  }
  if (!put(tag, static_cast<uint32_t>(used_))) return Entry();
  uint8_t* const to = blocks_[used_ >> kBlockBits] + (used_ & (kBlock - 1));
  to[0] = static_cast<uint8_t>(size);
  to[1] = static_cast<uint8_t>(count);
  write(to + 2);
  for (size_t i = 0; i < count; i += 4) std::memcpy(to + 2 + size + i * sizeof *ids, ids + i, 4 * sizeof *ids);
  used_ += length;
  ++count_;
  return Entry(to);
}

PieceStore::Entry PieceStore::add(uint32_t tag, const uint8_t* p, size_t size, const uint32_t* ids, size_t count) noexcept {
  return add(tag, size, ids, count, [&](Entry entry) { return entry.holds(p, size); },
             [&](uint8_t* to) { std::memcpy(to, p, size); });
}

PieceStore::Entry PieceStore::add(uint32_t tag, const Key& key, const uint32_t* ids, size_t count) noexcept {
  return add(tag, key.high >> 56, ids, count, [&](Entry entry) { return entry.holds(key); },
             [&](uint8_t* to) { std::memcpy(to, &key, sizeof key); });
}

// Sets used_ to where an entry goes of which so many bytes are read. Returns false where the store is full.
bool PieceStore::reserve(size_t reach) {
  if ((used_ & (kBlock - 1)) + reach > kBlock) {
    used_ = (used_ | (kBlock - 1)) + 1;
    if (used_ < room_) make_pages(blocks_[used_ >> kBlockBits], kBlock);
  }
  return used_ + reach <= room_ && count_ < most_;
}

// Enters a tag; returns false where too many others are in its way.
bool PieceStore::put(uint32_t tag, uint32_t place) {
  size_t at = tag >> shift_;
  for (size_t tries = 0; tries < kMostTries; ++tries, at = (at + 1) & mask_) {
    Bucket& bucket = buckets_[at];
    const unsigned free = equal(bucket, 0);
    if (free == 0) continue;
    const int i = __builtin_ctz(free);
    bucket.tags[i] = tag;
    bucket.places[i] = place;
    return true;
  }
  return false;
}

// Takes the next step; returns false where there is no more memory to have, and then nothing has changed.
bool PieceStore::grow() {
  const size_t step = memory_.step + 1;
  if (step == kSteps.size()) return false;
  const size_t more = AllStores::counted(step) - AllStores::counted(step - 1);
  while (!AllStores::take(more)) {
    if (!AllStores::take_from_idle()) return false;
  }
  const Step &before = kSteps[step - 1], &after = kSteps[step];
  std::optional<ZeroedArray<Bucket>> index;
  std::optional<ZeroedArray<uint8_t>> part;
  try {
    if (after.bits > before.bits) index.emplace(size_t{1} << after.bits);
    // (small pages: entries are written in order, and asked for some time before they are read)
    part.emplace((after.blocks - before.blocks) * kBlock, Pages::kSmall);
  } catch (const std::bad_alloc&) {
    AllStores::give(more);
    return false;
  }
  for (size_t i = before.blocks; i < after.blocks; ++i) blocks_[i] = &(*part)[(i - before.blocks) * kBlock];
  if (step == 1) {
    make_pages(blocks_[0], kBlock);
    std::memcpy(blocks_[0], first_arena_.data(), used_);
  }
  room_ = after.blocks * kBlock;
  memory_.arena[step - 1] = std::move(part);
  memory_.step = step;
  if (index) move_index(std::move(*index), after.bits);
  return true;
}

// A part at a time, of which the old one is given back before the new one of the next is made: tags stay in order, so each
// part of the old index goes to as large a share of the new one. (Measured: two threads that count 1 GB have 105 MiB at most,
// and had 117 with all of both indexes.)
void PieceStore::move_index(ZeroedArray<Bucket> index, unsigned bits) {
  Bucket* const old = buckets_;
  const size_t size = mask_ + 1, times = (size_t{1} << bits) / size;
  set_index(&index[0], bits);
  for (size_t from = 0; from < size; from += kMoved) {
    const std::span<const Bucket> part(old + from, std::min(kMoved, size - from));
    make_pages(buckets_ + from * times, part.size_bytes() * times);  // entries go to all of them
    for (const Bucket& bucket : part) {
      for (size_t i = 0; i < 8 && bucket.tags[i] != 0; ++i) put(bucket.tags[i], bucket.places[i]);
    }
    if (memory_.index) give_pages_back(old + from, part.size_bytes());
  }
  memory_.index = std::move(index);
}

}  // namespace tokcli
