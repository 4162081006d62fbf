// The hot loop: see encoder.h for the way through it.
#include "tiktoken/encoder.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/watch.h"

namespace tokcli {
namespace {

constexpr size_t kMostKept = 1 << 21;  // ids that `more_` may keep room for between two texts

// Copies ids, four at a time: up to three more are read and written. (Profile: how many there are is known only here, and the
// compiler's own way for that begins slowly. A second pass over 128 MB took a tenth longer.)
void copy_by_four(const void* from, size_t count, uint32_t* to) {
  const auto* const bytes = static_cast<const uint8_t*>(from);
  for (size_t i = 0; i < count; i += 4) std::memcpy(to + i, bytes + i * sizeof *to, 4 * sizeof *to);
}

MergeJob job_of(Bytes piece, uint32_t* out) {
  if (piece.size() > UINT32_MAX) throw std::length_error("a piece of 4 GiB or more");
  return {piece.data(), static_cast<uint32_t>(piece.size()), 0, out};
}

}  // namespace

void Encoder::make_pages() {
  if (std::exchange(has_pages_, true)) return;
  tokcli::make_pages(&cache_[0], table_.lines() * sizeof(CacheLine));
}

// Doubles the cache. A line's pieces stay where they are, or go to the line that is as far into the new half.
void Encoder::grow_cache() {
  const size_t before = table_.lines();
  tokcli::make_pages(&cache_[before], before * sizeof(CacheLine));
  table_ = LineTable::of(&cache_[0], 2 * before);
  found_again_ = 0;
  for (size_t i = 0; i < before; ++i) {
    CacheLine &line = cache_[i], &other = cache_[before + i];
    if (table_.line_of(line.frequent.key) == &other) std::swap(line.frequent, other.frequent);
    if (table_.line_of(line.recent.key) == &other) std::swap(line.recent, other.recent);
  }
}

// Takes out of the cache what leads into the store, whose entries are no longer those.
void Encoder::forget_places() {
  forgotten_ = store_.times_forgotten();
  for (size_t i = 0; i < table_.lines(); ++i) {
    for (CachedPiece* const piece : {&cache_[i].frequent, &cache_[i].recent}) {
      if (piece->ids.count > kMostIds) *piece = {};
    }
  }
}

Result Encoder::encode(const Splitting& by, Bytes text, IdBuffer* out) {
  Result result;
  if (out) out->reserve(text.size() / 3);  // enough for most texts (3.5 to 4 bytes an id): growing may copy
  if (!with_finder(by, text, [&](const auto& find_ends) { encode_pieces(find_ends, text, out, result); }))
    result.left_out = true;
  return result;
}

Result Encoder::encode_split(Bytes text, std::span<const uint64_t> ends, IdBuffer* out, std::vector<uint32_t>* counts) {
  Result result;
  size_t next = 0;
  if (out) out->reserve(text.size() / 3);
  encode_pieces(
      [&](const uint8_t*, const uint8_t** found, size_t room, PieceKeys*) {
        const size_t count = std::min(room, ends.size() - next);
        for (size_t i = 0; i < count; ++i) found[i] = text.data() + ends[next + i];
        next += count;
        return count;
      },
      text, out, result, counts);
  return result;
}

// The hot loop: a batch of pieces at a time.
template <class Find>
void Encoder::encode_pieces(const Find& find_ends, Bytes text, IdBuffer* out, Result& result,
                            std::vector<uint32_t>* counts) {
  Batch& batch = *batch_;
  const uint8_t* p = text.data();
  const uint8_t* const end = p + text.size();
  if (text.size() >= kLongText) make_pages();
  while (p < end) {
    if (out && text.size() >= kLongText) out->make_pages_ahead();  // (for many short texts it is a system call each)
    if (found_again_ >= table_.lines() / 4 && table_.lines() < kLines) [[unlikely]] grow_cache();
    batch.starts[0] = p;
    PieceKeys keys = piece_keys();
    const size_t pieces = find_ends(p, batch.starts + 1, kBatch, &keys);
    if (pieces == 0) break;  // the pattern has failed
    p = batch.starts[pieces];
    const bool is_long = static_cast<size_t>(p - batch.starts[0]) >= kLongBatch && counts == nullptr;
    if (!(is_long ? encode_cut(pieces, end, out, result) : encode_batch(pieces, keys.count, end, out, result, counts))) return;
  }
  if (more_.capacity() > kMostKept) {  // a piece of megabytes was merged
    more_ = {};
    scratch_ = {};
  }
}

// Encodes the pieces of a batch, one round after another; the first `hashed` of them have keys. Returns false where a byte is
// no token.
bool Encoder::encode_batch(size_t pieces, size_t hashed, const uint8_t* end, IdBuffer* out, Result& result,
                           std::vector<uint32_t>* counts) {
  Batch& batch = *batch_;
  const size_t bytes = static_cast<size_t>(batch.starts[pieces] - batch.starts[0]);
  work_done(bytes);
  if (store_.is_full()) [[unlikely]] store_.forget();  // (between two batches: one may lead into the store)
  if (forgotten_ != store_.times_forgotten()) [[unlikely]] forget_places();
  hash_pieces(hashed, pieces, end);
  probe(pieces);
  if (missing_ > 0) {
    more_.room(bytes + 3);  // a piece has no more ids than bytes, and copy_by_four reads up to three more
    more_used_ = waiting_ = jobs_ = twins_ = 0;
    uses_store_ = is_store_of_use();
    look_up_missing();
    look_up_longer();
    if (uses_store_) look_up_stored();
    add_new();
    merge(vocabulary_, {batch.jobs, jobs_}, scratch_);
    for (size_t i = 0; i < jobs_; ++i) {
      result.missing_byte = !drop_missing(batch.jobs[i]);
      if (result.missing_byte) return false;  // nothing is kept, so that the byte is missed the next time too
      keep(batch.jobs[i], batch.job_piece[i]);
    }
    for (size_t k = 0; k < twins_; ++k) batch.ids[batch.twins[k]] = batch.ids[batch.twin_of[k]];
  }
  if (counts) {
    for (size_t i = 0; i < pieces; ++i) counts->push_back(batch.ids[i].count);
  }
  if (out == nullptr) {
    for (size_t i = 0; i < pieces; ++i) result.count += batch.ids[i].count;
    return true;
  }
  uint32_t* const to = out->reserve(bytes + kMostIds + 1);  // three ids and their number are always copied, however few there are
  uint32_t* next = to;
  for (size_t i = 0; i < pieces; ++i) {
    const PieceIds& ids = batch.ids[i];
    std::memcpy(next, &ids, sizeof ids);
    if (ids.count > kMostIds) [[unlikely]] copy_by_four(ids.place(), ids.count, next);
    next += ids.count;
  }
  out->commit(static_cast<size_t>(next - to));
  result.count += static_cast<uint64_t>(next - to);
  return true;
}

Result Encoder::encode_piece(Bytes piece, IdBuffer* out) {
  Result result;
  if (piece.empty()) return result;
  uint32_t whole = vocabulary_.find(piece.data(), piece.size(), piece.size());
  MergeJob job = job_of(piece, whole != kNone ? &whole : more_.room(piece.size()));
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

// Removes kNone, which stands for bytes that are no token, from the ids of a job. Returns false where there are such
// bytes and they are an error.
bool Encoder::drop_missing(MergeJob& job) const {
  if (has_all_bytes_) [[likely]] return true;
  uint32_t* const end = job.out + job.count;
  if (std::find(job.out, end, kNone) == end) [[likely]] return true;
  job.count = static_cast<uint32_t>(std::remove(job.out, end, kNone) - job.out);
  return vocabulary_.drops_missing();
}

// Where the keys of a batch go. (Anew for each batch: the cache grows between two of them.)
PieceKeys Encoder::piece_keys() { return {batch_->keys, batch_->lines, table_}; }

// Fills the batch's keys from the piece with the number `from` on, and asks for the cache lines of these pieces.
void Encoder::hash_pieces(size_t from, size_t pieces, const uint8_t* end) {
  const PieceKeys keys = piece_keys();
  const uint8_t* const* const starts = batch_->starts;
  for (size_t i = from; i < pieces; ++i)
    keys.set(i, key_of(starts[i], static_cast<size_t>(starts[i + 1] - starts[i]), static_cast<size_t>(end - starts[i])));
}

// Reads the cache: the ids of what is there, and the list of what is missing, with all pieces above 15 bytes.
void Encoder::probe(size_t pieces) {
  Batch& batch = *batch_;
  size_t missing = 0;
  for (size_t i = 0; i < pieces; ++i) {
    const Key key = batch.keys[i];
    CacheLine& line = line_of(static_cast<uint32_t>(i));
    const auto differs = [&](const CachedPiece& piece) {
      return (piece.key.low ^ key.low) | (piece.key.high ^ key.high);
    };
    const bool is_recent = differs(line.recent) == 0;
    if (is_recent) [[unlikely]] std::swap(line.frequent, line.recent);
    batch.ids[i] = line.frequent.ids;
    batch.missing[missing] = static_cast<uint32_t>(i);
    missing += differs(line.frequent) != 0;
  }
  missing_ = missing;
}

// Finds the pieces that are short tokens; the others wait to be looked up in the store. A filter says of each piece what
// it is, with few errors, so only one of two places where it may be is asked for, and the rest of the loop has no branch.
void Encoder::look_up_missing() {
  Batch& batch = *batch_;
  size_t shorter = 0, tokens = 0;
  longer_ = 0;
  for (size_t k = 0; k < missing_; ++k) {
    const uint32_t i = batch.missing[k];
    batch.hashes[i] = hash_of(batch.keys[i]);
    vocabulary_.prefetch_filter(batch.hashes[i]);
    const bool is_longer = is_long(batch.keys[i]);
    batch.missing[shorter] = batch.longer[longer_] = i;
    shorter += !is_longer;
    longer_ += is_longer;
  }
  for (size_t k = 0; k < shorter; ++k) {
    const uint32_t i = batch.missing[k], tag = store_.tag_of(batch.keys[i]);
    const uint64_t hash = batch.hashes[i];
    const bool may_be_token = (batch.keys[i].high >> 56 <= kShortBytes) & vocabulary_.may_be_short(hash);
    batch.tags[i] = tag;
    __builtin_prefetch(may_be_token ? vocabulary_.place_of_short(hash) : store_.place_of(tag));
    batch.missing[tokens] = batch.waiting[waiting_] = i;
    tokens += may_be_token;
    waiting_ += !may_be_token;
  }
  for (size_t k = 0; k < tokens; ++k) {
    const uint32_t i = batch.missing[k];
    const uint64_t hash = batch.hashes[i];
    const uint32_t whole = vocabulary_.find_in_slots(batch.keys[i], hash);
    if (whole == kNone) [[unlikely]] {
      __builtin_prefetch(store_.place_of(batch.tags[i]));
      batch.waiting[waiting_++] = i;
      continue;
    }
    batch.ids[i] = line_of(i).recent.ids = {{whole, 0, 0}, 1};
    line_of(i).recent.key = batch.keys[i];
  }
}

// Says whether a batch looks into the store, and adds what it merges: where next to nothing is found there, as of random
// letters, only every eighth does once the store has had to forget. (Profile: they are then counted in seven eighths of the time.
// Not before: a second pass over 3 MB of base64 took four times as long, and one over random words three times.)
bool Encoder::is_store_of_use() {
  if (asked_ >= kManyAsked) {
    is_store_of_use_ = found_ >= asked_ / kLeastShare;
    asked_ /= 2;
    found_ /= 2;
  }
  return is_store_of_use_ || forgotten_ == 0 || ++batches_ % 8 == 0;
}

// Adds the pieces above 15 bytes to those that are looked up in the store.
void Encoder::look_up_longer() {
  Batch& batch = *batch_;
  for (size_t k = 0; k < longer_; ++k) {
    const uint32_t i = batch.longer[k];
    const uint8_t* p = batch.starts[i];
    const size_t size = static_cast<size_t>(batch.starts[i + 1] - p);
    batch.tags[i] = size <= PieceStore::kMostBytes ? store_.tag_of(p, size) : 0;
    __builtin_prefetch(store_.place_of(batch.tags[i]));
    batch.waiting[waiting_++] = i;
  }
}

// Finds what the store has; what it has not stays in the list of those that wait.
void Encoder::look_up_stored() {
  Batch& batch = *batch_;
  for (size_t k = 0; k < waiting_; ++k) {
    const uint32_t i = batch.waiting[k];
    batch.candidates[k] = store_.candidate(batch.tags[i]);
    batch.candidates[k].prefetch(static_cast<size_t>(batch.starts[i + 1] - batch.starts[i]));
  }
  size_t left = 0;
  for (size_t k = 0; k < waiting_; ++k) {
    const uint32_t i = batch.waiting[k];
    const uint8_t* p = batch.starts[i];
    const size_t size = static_cast<size_t>(batch.starts[i + 1] - p);
    PieceStore::Entry entry = batch.candidates[k];
    if (!(size <= kKeyBytes ? entry.holds(batch.keys[i]) : entry.holds(p, size)) &&
        (entry.is_nothing() || !store_.find(batch.tags[i], p, size, &entry))) {
      batch.waiting[left++] = i;
      continue;
    }
    set_ids(i, entry);
    if (size <= kKeyBytes) line_of(i).recent = {batch.keys[i], batch.ids[i]};
  }
  asked_ += waiting_;
  found_ += waiting_ - left;
  found_again_ += waiting_ - left;
  waiting_ = left;
}

// Finds which of the pieces that are new are longer tokens; of the others, equal ones are merged once.
void Encoder::add_new() {
  Batch& batch = *batch_;
  for (size_t k = 0; k < waiting_; ++k) {
    const uint32_t i = batch.waiting[k], tag = batch.tags[i];
    const uint8_t* p = batch.starts[i];
    const size_t size = static_cast<size_t>(batch.starts[i + 1] - p);
    const uint32_t whole = size > kShortBytes ? vocabulary_.find_long(p, size) : kNone;
    if (whole != kNone) {
      batch.ids[i] = {{whole, 0, 0}, 1};
      store(i, p, size, batch.ids[i].ids, 1);
      if (size <= kKeyBytes) line_of(i).recent = {batch.keys[i], batch.ids[i]};
      continue;
    }
    uint32_t& job = batch.job_of_tag[tag >> (32 - kJobTagBits)];
    if (job < jobs_ && batch.jobs[job].size == size && std::memcmp(batch.jobs[job].p, p, size) == 0) {
      batch.twins[twins_] = i;
      batch.twin_of[twins_++] = batch.job_piece[job];
      continue;
    }
    job = static_cast<uint32_t>(jobs_);
    add_job(i);
  }
}

// Adds a piece to those that are merged.
void Encoder::add_job(uint32_t piece) {
  Batch& batch = *batch_;
  const uint8_t* p = batch.starts[piece];
  const auto size = static_cast<size_t>(batch.starts[piece + 1] - p);
  batch.jobs[jobs_] = job_of({p, size}, more_.data() + more_used_);
  batch.job_piece[jobs_++] = piece;
  more_used_ += size;
}

// Takes the ids of a piece from the store.
void Encoder::set_ids(uint32_t piece, const PieceStore::Entry& entry) {
  PieceIds& to = batch_->ids[piece];
  to.count = entry.count();
  if (to.count <= kMostIds) std::memcpy(to.ids, entry.ids(), sizeof to.ids);
  else to.set_place(entry.ids());
}

// Adds a piece to the store, if it takes pieces of such a size. Up to three more ids are read.
PieceStore::Entry Encoder::store(uint32_t piece, const uint8_t* p, size_t size, const uint32_t* ids, size_t count) {
  const Batch& batch = *batch_;
  if (!uses_store_ || size > PieceStore::kMostBytes || count > PieceStore::kMostIds) return PieceStore::Entry();
  return size <= kKeyBytes ? store_.add(batch.tags[piece], batch.keys[piece], ids, count)
                           : store_.add(batch.tags[piece], p, size, ids, count);
}

// Copies what merging found into the batch, the cache and the store.
void Encoder::keep(const MergeJob& job, uint32_t piece) {
  Batch& batch = *batch_;
  PieceIds& ids = batch.ids[piece];
  ids.count = job.count;
  if (job.count <= kMostIds) std::copy_n(job.out, job.count, ids.ids);
  else ids.set_place(job.out);
  const PieceStore::Entry kept = store(piece, job.p, job.size, job.out, job.count);
  if (job.count > kMostIds) {
    if (kept.is_nothing()) return;
    ids.set_place(kept.ids());
  }
  if (job.size <= kKeyBytes) line_of(piece).recent = {batch.keys[piece], ids};
}

}  // namespace tokcli
