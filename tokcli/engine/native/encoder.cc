// The hot loop: see encoder.h.
#include "encoder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

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
void release(void* p, size_t) { ::operator delete(p, std::align_val_t{64}); }
#endif

namespace {

constexpr size_t kMostKept = 1 << 20;  // ids

MergeJob job_of(Bytes piece, uint32_t* out) {
  if (piece.size() > UINT32_MAX) throw std::length_error("a piece of 4 GiB or more");
  return {piece.data(), static_cast<uint32_t>(piece.size()), 0, out};
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

// Text that is no UTF-8 becomes UTF-8 a part at a time, small enough to be still in the L2 cache when it is read again.
// (Profile: all of it at once took an eighth of the time on English, half of that for new pages.)
Result Encoder::encode(Family family, const Text& text, IdBuffer* out) {
  constexpr size_t kPart = 1 << 15;  // units
  Result result;
  if (out) out->reserve(text.size / 3);  // what most texts take (3.5 to 4 bytes an id), as growing may copy
  if (text.is_utf8) {
    encode_utf8(family, text.bytes(), out, result);
    return result;
  }
  for (size_t at = 0; at < text.size;) {
    size_t end = at + kPart < text.size ? at + last_cut(text.part(at, text.size), kPart) : text.size;
    if (end == at) end = at + next_cut(text.part(at, text.size), kPart);
    if (utf8_.size() < (end - at) * kMostUtf8) utf8_.resize((end - at) * kMostUtf8);
    const size_t size = to_utf8(text.part(at, end), utf8_.data());
    if (size == kSurrogate) {
      result.surrogate = true;
      break;
    }
    encode_utf8(family, {utf8_.data(), size}, out, result);
    if (result.missing_byte) break;
    at = end;
  }
  return result;
}

void Encoder::encode_utf8(Family family, Bytes text, IdBuffer* out, Result& result) {
  const FindEnds find_ends = finder(family, instructions());
  Batch& batch = *batch_;
  const uint8_t* p = text.data();
  const uint8_t* const end = p + text.size();
  while (p < end) {
    batch.starts[0] = p;
    const size_t pieces = find_ends(p, end, batch.starts + 1, kBatch);
    p = batch.starts[pieces];
    const size_t bytes = static_cast<size_t>(p - batch.starts[0]);
    hash_pieces(pieces, end);
    probe(pieces);
    if (missing_ + longer_ > 0) {
      // ids that wait: those of jobs, as many as bytes at most, and copies of long slots
      if (more_.size() < bytes + kMostLongIds * (longer_ + missing_)) more_.resize(bytes + kMostLongIds * kRoom);
      more_used_ = jobs_ = 0;
      look_up_missing();
      look_up_longer(end);
      merge(vocabulary_, {batch.jobs, jobs_}, scratch_);
      for (size_t i = 0; i < jobs_; ++i) {
        MergeJob& job = batch.jobs[i];
        if (!drop_missing(job)) {
          result.missing_byte = true;  // and nothing is kept, so that it is missed the next time too
          return;
        }
        keep(job, batch.job_piece[i]);
      }
    }
    if (out == nullptr) {
      for (size_t i = 0; i < pieces; ++i) result.count += batch.ids[i].count;
      continue;
    }
    uint32_t* const to = out->reserve(bytes + kMostIds);  // three are always written
    uint32_t* next = to;
    for (size_t i = 0; i < pieces; ++i) {
      const Ids& ids = batch.ids[i];
      std::memcpy(next, ids.ids, sizeof ids.ids);
      if (ids.count > kMostIds) [[unlikely]] std::copy_n(&more_[ids.ids[0]], ids.count, next);
      next += ids.count;
    }
    out->commit(static_cast<size_t>(next - to));
    result.count += static_cast<uint64_t>(next - to);
  }
  if (more_.size() > kMostKept) std::vector<uint32_t>().swap(more_);  // of a piece of megabytes
}

Result Encoder::encode_piece(Bytes piece, IdBuffer* out) {
  Result result;
  if (piece.empty()) return result;
  uint32_t whole = vocabulary_.find(piece.data(), piece.size(), piece.size());
  if (more_.size() < piece.size()) more_.resize(piece.size());
  MergeJob job = job_of(piece, whole != kNone ? &whole : more_.data());
  job.count = 1;
  if (whole == kNone) merge(vocabulary_, {&job, 1}, scratch_);
  result.missing_byte = !drop_missing(job);
  result.count = job.count;
  if (out) {
    std::copy_n(job.out, job.count, out->reserve(job.count));
    out->commit(job.count);
  }
  return result;
}

// Takes the bytes that are no token out of what merging left; false where there are some, and they are an error.
bool Encoder::drop_missing(MergeJob& job) const {
  uint32_t* const end = job.out + job.count;
  if (std::find(job.out, end, kNone) == end) [[likely]] return true;
  job.count = static_cast<uint32_t>(std::remove(job.out, end, kNone) - job.out);
  return vocabulary_.drops_missing();
}

void Encoder::hash_pieces(size_t pieces, const uint8_t* end) {
  Batch& batch = *batch_;
  longer_ = 0;
  for (size_t i = 0; i < pieces; ++i) {
    const uint8_t* p = batch.starts[i];
    const size_t size = static_cast<size_t>(batch.starts[i + 1] - p);
    const Key key = key_of(p, size <= kKeyBytes ? size : 0, static_cast<size_t>(end - p));
    const uint64_t hash = hash_of(key);
    batch.keys[i] = key;
    batch.hashes[i] = hash;
    __builtin_prefetch(&cache_[high_bits(hash, kPairBits)]);
    batch.longer[longer_] = static_cast<uint32_t>(i);
    longer_ += size > kKeyBytes;
  }
}

// A piece above 15 bytes has the key 0, and is not among the missing.
void Encoder::probe(size_t pieces) {
  Batch& batch = *batch_;
  missing_ = 0;
  for (size_t i = 0; i < pieces; ++i) {
    const Key key = batch.keys[i];
    Pair& pair = cache_[high_bits(batch.hashes[i], kPairBits)];
    const auto differs = [&](const Slot& slot) { return (slot.key.low ^ key.low) | (slot.key.high ^ key.high); };
    const bool is_recent = differs(pair.recent) == 0;
    if (is_recent) [[unlikely]] std::swap(pair.frequent, pair.recent);
    batch.ids[i] = pair.frequent.ids;
    batch.missing[missing_] = static_cast<uint32_t>(i);
    missing_ += (differs(pair.frequent) != 0) & (key.high != 0);
  }
}

void Encoder::look_up_missing() {
  Batch& batch = *batch_;
  for (size_t k = 0; k < missing_; ++k) vocabulary_.prefetch_short(batch.hashes[batch.missing[k]]);
  for (size_t k = 0; k < missing_; ++k) {
    const uint32_t i = batch.missing[k];
    const uint8_t* p = batch.starts[i];
    const size_t size = static_cast<size_t>(batch.starts[i + 1] - p);
    const uint64_t hash = batch.hashes[i];
    const uint32_t whole =
        size <= kShortBytes ? vocabulary_.find_short(batch.keys[i], hash) : vocabulary_.find_long(p, size);
    if (whole != kNone) {
      batch.ids[i] = cache_[high_bits(hash, kPairBits)].recent.ids = {1, {whole, 0, 0}};
      cache_[high_bits(hash, kPairBits)].recent.key = batch.keys[i];
      continue;
    }
    const LongSlot& slot = long_slot(hash);
    if (slot.holds(hash, p, size)) set_ids(i, slot.ids, slot.count);
    else add_job(i);
  }
}

void Encoder::look_up_longer(const uint8_t* end) {
  Batch& batch = *batch_;
  for (size_t k = 0; k < longer_; ++k) {
    const uint32_t i = batch.longer[k];
    const uint8_t* p = batch.starts[i];
    const size_t size = static_cast<size_t>(batch.starts[i + 1] - p);
    if (size > kMostLongBytes) continue;
    batch.hashes[i] = hash_bytes(p, size);
    __builtin_prefetch(&long_slot(batch.hashes[i]));
    __builtin_prefetch(long_slot(batch.hashes[i]).ids);
  }
  for (size_t k = 0; k < longer_; ++k) {
    const uint32_t i = batch.longer[k];
    const uint8_t* p = batch.starts[i];
    const size_t size = static_cast<size_t>(batch.starts[i + 1] - p);
    if (size <= kMostLongBytes) {
      const LongSlot& slot = long_slot(batch.hashes[i]);
      if (slot.holds(batch.hashes[i], p, size)) {
        set_ids(i, slot.ids, slot.count);
        continue;
      }
    }
    const uint32_t whole = vocabulary_.find(p, size, static_cast<size_t>(end - p));
    if (whole != kNone) batch.ids[i] = {1, {whole, 0, 0}};
    else add_job(i);
  }
}

void Encoder::add_job(uint32_t piece) {
  Batch& batch = *batch_;
  const uint8_t* p = batch.starts[piece];
  const auto size = static_cast<size_t>(batch.starts[piece + 1] - p);
  batch.jobs[jobs_] = job_of({p, size}, &more_[more_used_]);
  batch.job_piece[jobs_++] = piece;
  more_used_ += size;
}

// Ids of a piece that are kept elsewhere, now in the batch.
void Encoder::set_ids(uint32_t piece, const uint32_t* ids, uint32_t count) {
  Ids& to = batch_->ids[piece];
  to.count = count;
  if (count <= kMostIds) {
    std::copy_n(ids, count, to.ids);
    return;
  }
  to.ids[0] = static_cast<uint32_t>(more_used_);
  std::copy_n(ids, count, &more_[more_used_]);
  more_used_ += count;
}

// What merging found: into the batch, and into one of the caches.
void Encoder::keep(const MergeJob& job, uint32_t piece) {
  Batch& batch = *batch_;
  Ids& ids = batch.ids[piece];
  ids.count = job.count;
  if (job.count <= kMostIds) std::copy_n(job.out, job.count, ids.ids);
  else ids.ids[0] = static_cast<uint32_t>(job.out - more_.data());
  const uint64_t hash = batch.hashes[piece];
  if (job.size <= kKeyBytes && job.count <= kMostIds) {
    cache_[high_bits(hash, kPairBits)].recent = {batch.keys[piece], ids};
  } else if (job.size <= kMostLongBytes && job.count <= kMostLongIds) {
    LongSlot& slot = long_slot(hash);
    slot.hash = hash;
    slot.size = static_cast<uint8_t>(job.size);
    slot.count = static_cast<uint8_t>(job.count);
    std::memcpy(slot.bytes, job.p, job.size);
    std::copy_n(job.out, job.count, slot.ids);
  }
}

}  // namespace tokcli
