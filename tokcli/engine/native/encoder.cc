// The hot loop: see encoder.h.
#include "encoder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tokcli {

#if defined(__linux__)
constexpr size_t kLargePage = size_t{1} << 21;

void* allocate(size_t size) {
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  madvise(p, size, MADV_HUGEPAGE);
  return p;
}
void release(void* p, size_t size) { munmap(p, size); }
#else
void* allocate(size_t size) {
  void* p = ::operator new(size, std::align_val_t{64});
  std::memset(p, 0, size);
  return p;
}
void release(void* p, size_t size) { ::operator delete(p, size, std::align_val_t{64}); }
#endif

namespace {

// Keeps the first byte that the vocabulary has no token for.
void note_missing(const uint8_t* p, const uint32_t* ids, size_t count, Result& result) {
  const uint32_t* missing = std::find(ids, ids + count, kNone);
  if (missing == ids + count || result.missing_byte) return;
  result.missing_byte = true;
  result.first = p;
}

}  // namespace

void IdBuffer::grow(size_t more) {
  const size_t wanted = std::max(size_ + more, capacity_ + capacity_ / 2 + 1024);
  auto* grown = static_cast<uint32_t*>(std::realloc(data_.get(), wanted * sizeof(uint32_t)));
  if (grown == nullptr) throw std::bad_alloc();
  (void)data_.release();
  data_.reset(grown);
  capacity_ = wanted;
#if defined(__linux__)
  // written once from end to end: with large pages the system is asked for one 500 times less often
  const uintptr_t first = (reinterpret_cast<uintptr_t>(grown) + kLargePage - 1) / kLargePage * kLargePage;
  const uintptr_t last = reinterpret_cast<uintptr_t>(grown + wanted) / kLargePage * kLargePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

void IdBuffer::append(const IdBuffer& other) {
  if (other.size() == 0) return;
  std::memcpy(reserve(other.size()), other.data(), other.size() * sizeof(uint32_t));
  commit(other.size());
}

Result Encoder::encode(Family family, Bytes text, IdBuffer* out) {
  const bool counting = out == nullptr;
  // room for what most texts take (3.5 to 4 bytes an id), as growing may copy
  if (!counting) out->reserve(text.size() / 3);
  switch (family) {
    case Family::kR50k: return counting ? run<Family::kR50k, true>(text, out) : run<Family::kR50k, false>(text, out);
    case Family::kCl100k: return counting ? run<Family::kCl100k, true>(text, out) : run<Family::kCl100k, false>(text, out);
    case Family::kLlama3: return counting ? run<Family::kLlama3, true>(text, out) : run<Family::kLlama3, false>(text, out);
    case Family::kQwen2: return counting ? run<Family::kQwen2, true>(text, out) : run<Family::kQwen2, false>(text, out);
    case Family::kO200k: return counting ? run<Family::kO200k, true>(text, out) : run<Family::kO200k, false>(text, out);
  }
  return {};
}

Result Encoder::encode_piece(Bytes piece, IdBuffer* out) {
  Result result;
  if (piece.empty()) return result;
  uint32_t* ids = out ? out->reserve(piece.size()) : nullptr;
  const uint32_t whole = vocabulary_.find(piece.data(), piece.size(), piece.size());
  if (whole != kNone) {
    if (ids) ids[0] = whole;
    result.count = 1;
  } else {
    result.count = merge_long(piece.data(), piece.size(), out == nullptr, ids, result);
  }
  if (out) out->commit(result.count);
  return result;
}

// Pieces are found a batch at a time, and only then looked up, in two rounds: first the cache line of each is asked for,
// then each is read. So the memory system works on a batch of lines at once instead of waiting for one after the other
// (profile: looking each piece up as it was found took a third longer on multilingual text).
template <Family family, bool counting>
Result Encoder::run(Bytes text, IdBuffer* out) {
  constexpr size_t kBatch = 32;
  struct Piece {
    const uint8_t* p;
    size_t size;
    Key key;
    uint64_t hash;
  };
  std::array<Piece, kBatch> batch;
  Result result;
  const uint8_t* p = text.data();
  const uint8_t* const end = p + text.size();
  while (p < end) {
    size_t pieces = 0, bytes = 0;
    for (; pieces < kBatch && p < end; ++pieces) {
      const uint8_t* next = piece_end<family>(p, end);
      Piece& piece = batch[pieces];
      piece.p = p;
      piece.size = static_cast<size_t>(next - p);
      if (piece.size <= kKeyBytes) {
        piece.key = key_of(p, piece.size, static_cast<size_t>(end - p));
        piece.hash = hash_of(piece.key);
        __builtin_prefetch(&cache_[high_bits(piece.hash, kPairBits)]);
      } else if (piece.size <= sizeof(LongSlot::bytes)) {
        piece.hash = hash_bytes(p, piece.size);
        __builtin_prefetch(&long_cache_[high_bits(piece.hash, kLongBits)]);
      }
      bytes += piece.size;
      p = next;
    }
    uint32_t* ids = counting ? nullptr : out->reserve(bytes + 3);  // three are always written
    size_t made = 0;
    for (size_t i = 0; i < pieces; ++i) {
      const Piece& piece = batch[i];
      uint32_t* to = counting ? nullptr : ids + made;
      const size_t readable = static_cast<size_t>(end - piece.p);
      if (piece.size > kKeyBytes) {
        made += look_up_long<counting>(piece.p, piece.size, readable, piece.hash, to, result);
        continue;
      }
      Pair& pair = cache_[high_bits(piece.hash, kPairBits)];
      if (pair.frequent.key != piece.key) [[unlikely]] {
        if (pair.recent.key != piece.key) {
          made += look_up<counting>(piece.p, piece.size, piece.key, piece.hash, pair.recent, to, result);
          continue;
        }
        std::swap(pair.frequent, pair.recent);
      }
      if (!counting) std::memcpy(to, pair.frequent.ids, sizeof pair.frequent.ids);
      made += pair.frequent.count;
    }
    if (!counting) out->commit(made);
    result.count += made;
  }
  return result;
}

template <bool counting>
size_t Encoder::look_up(const uint8_t* p, size_t size, const Key& key, uint64_t hash, Slot& slot, uint32_t* out,
                        Result& result) {
  const uint32_t whole = size <= kShortBytes ? vocabulary_.find_short(key, hash) : vocabulary_.find_long(p, size);
  if (whole != kNone) {
    slot.key = key;
    slot.count = 1;
    slot.ids[0] = whole;
    if (!counting) *out = whole;
    return 1;
  }
  uint32_t ids[kKeyBytes];
  LongSlot& more = long_cache_[high_bits(hash, kLongBits)];
  if (more.hash == hash && more.size == size && std::memcmp(more.bytes, p, size) == 0) {
    if (!counting) std::copy_n(more.ids, more.count, out);
    return more.count;
  }
  const size_t count = merge(vocabulary_, p, size, scratch_, ids);
  note_missing(p, ids, count, result);
  if (!counting) std::copy_n(ids, count, out);
  if (count <= 3) {
    slot.key = key;
    slot.count = static_cast<uint32_t>(count);
    std::copy_n(ids, count, slot.ids);
  } else {
    more.hash = hash;
    more.size = static_cast<uint8_t>(size);
    more.count = static_cast<uint8_t>(count);
    std::memcpy(more.bytes, p, size);
    std::copy_n(ids, count, more.ids);
  }
  return count;
}

template <bool counting>
size_t Encoder::look_up_long(const uint8_t* p, size_t size, size_t readable, uint64_t hash, uint32_t* out,
                             Result& result) {
  const bool keeps = size <= sizeof(LongSlot::bytes);
  LongSlot* slot = keeps ? &long_cache_[high_bits(hash, kLongBits)] : nullptr;
  if (keeps && slot->hash == hash && slot->size == size && std::memcmp(slot->bytes, p, size) == 0) {
    if (!counting) std::copy_n(slot->ids, slot->count, out);
    return slot->count;
  }
  const uint32_t whole = vocabulary_.find(p, size, readable);
  if (whole != kNone) {
    if (!counting) *out = whole;
    return 1;
  }
  if (!keeps) return merge_long(p, size, counting, out, result);
  uint32_t ids[sizeof(LongSlot::bytes)];
  const size_t count = merge(vocabulary_, p, size, scratch_, ids);
  note_missing(p, ids, count, result);
  if (!counting) std::copy_n(ids, count, out);
  if (count <= std::size(slot->ids)) {
    slot->hash = hash;
    slot->size = static_cast<uint8_t>(size);
    slot->count = static_cast<uint8_t>(count);
    std::memcpy(slot->bytes, p, size);
    std::copy_n(ids, count, slot->ids);
  }
  return count;
}

size_t Encoder::merge_long(const uint8_t* p, size_t size, bool counting, uint32_t* out, Result& result) {
  if (counting) {
    merged_.resize(size);
    out = merged_.data();
  }
  const size_t count = merge(vocabulary_, p, size, scratch_, out);
  note_missing(p, out, count, result);
  return count;
}

}  // namespace tokcli
