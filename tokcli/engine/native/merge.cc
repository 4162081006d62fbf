// Merging a piece: a scan for short ones, a heap for long ones. See merge.h.
//
// A part is known by the position of its first byte, where parts[] has its id. `merged(start, middle, end)` is the id of
// the token that two parts make, which is its rank, or kNone. Both algorithms stop when `until` parts are left.
#include "merge.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace tokcli {
namespace {

// `starts` has a bit for each part, `valid` one for each that is a token together with the next; pair[i] is the rank of
// the two, and i, in one word: the smallest word is the pair to merge, the leftmost of equals. Only valid pairs are
// looked at, and the next or previous part takes two instructions.
// (Tried: the smallest of all words by AVX-512. Loading a vector just behind the store of one of its words stalls.
// Tried: looking up every substring beforehand, without waiting for any. It asks for twice the cache lines.)
template <class Merged>
size_t merge_by_scanning(size_t size, size_t until, uint32_t* parts, const Merged& merged) {
  static_assert(kScanBytes == 64 && kIdBits + 6 < 32);
  uint32_t pair[kScanBytes];
  uint64_t starts = size == 64 ? ~0ull : (1ull << size) - 1, valid = 0;
  const auto look_up = [&](size_t start, size_t middle, size_t end) {
    const uint32_t rank = merged(start, middle, end);
    pair[start] = rank << 6 | static_cast<uint32_t>(start);
    valid = (valid & ~(1ull << start)) | static_cast<uint64_t>(rank != kNone) << start;
  };
  const auto next = [&](size_t at) {  // where the part after the one at `at` begins; size for none
    const uint64_t behind = starts & (~1ull << at);
    return behind ? static_cast<size_t>(std::countr_zero(behind)) : size;
  };
  for (size_t i = 0; i + 1 < size; ++i) look_up(i, i + 1, i + 2);
  for (size_t left = size; valid && left > until; --left) {
    uint32_t best = kNone;
    for (uint64_t rest = valid; rest; rest &= rest - 1) best = std::min(best, pair[std::countr_zero(rest)]);
    const size_t start = best & 63, middle = next(start);
    parts[start] = best >> 6;
    starts &= ~(1ull << middle);
    valid &= ~(1ull << middle);
    const size_t end = next(start);
    if (end < size) look_up(start, end, next(end));
    else valid &= ~(1ull << start);
    const uint64_t before = starts & ((1ull << start) - 1);
    if (before) look_up(63 - static_cast<size_t>(std::countl_zero(before)), start, end);
  }
  size_t count = 0;
  for (uint64_t rest = starts; rest; rest &= rest - 1) parts[count++] = parts[std::countr_zero(rest)];
  return count;
}

// O(n log n): (rank, start) in a heap, stale entries skipped, parts linked by where they end and begin.
template <class Merged>
size_t merge_by_heap(size_t size, size_t until, MergeScratch& s, uint32_t* parts, const Merged& merged) {
  s.end.resize(size);
  s.previous.resize(size + 1);
  s.rank.assign(size, kNone);
  s.heap.clear();
  for (size_t i = 0; i < size; ++i) {
    s.end[i] = static_cast<uint32_t>(i + 1);
    s.previous[i + 1] = static_cast<uint32_t>(i);
    if (i + 1 < size && (s.rank[i] = merged(i, i + 1, i + 2)) != kNone) {
      s.heap.push_back(static_cast<uint64_t>(s.rank[i]) << 32 | i);
    }
  }
  const auto greater = std::greater<uint64_t>();
  std::make_heap(s.heap.begin(), s.heap.end(), greater);
  const auto look_up = [&](size_t start) {
    const size_t middle = s.end[start];
    const uint32_t rank = middle < size ? merged(start, middle, s.end[middle]) : kNone;
    s.rank[start] = rank;
    if (rank != kNone) {
      s.heap.push_back(static_cast<uint64_t>(rank) << 32 | start);
      std::push_heap(s.heap.begin(), s.heap.end(), greater);
    }
  };
  for (size_t left = size; !s.heap.empty() && left > until;) {
    const uint64_t top = s.heap.front();
    std::pop_heap(s.heap.begin(), s.heap.end(), greater);
    s.heap.pop_back();
    const size_t start = static_cast<uint32_t>(top);
    if (s.rank[start] != top >> 32) continue;
    const size_t middle = s.end[start];
    parts[start] = s.rank[start];
    s.rank[middle] = kNone;
    s.end[start] = s.end[middle];
    s.previous[s.end[start]] = static_cast<uint32_t>(start);
    look_up(start);
    if (start > 0) look_up(s.previous[start]);
    --left;
  }
  size_t count = 0;
  for (size_t start = 0; start < size; start = s.end[start]) parts[count++] = parts[start];
  return count;
}

template <class Merged>
size_t merge_parts(size_t size, size_t until, MergeScratch& scratch, uint32_t* parts, const Merged& merged) {
  if (size <= kScanBytes) return merge_by_scanning(size, until, parts, merged);
  return merge_by_heap(size, until, scratch, parts, merged);
}

}  // namespace

size_t merge(const Vocabulary& v, const uint8_t* p, size_t size, MergeScratch& scratch, uint32_t* out) {
  for (size_t i = 0; i < size; ++i) out[i] = v.byte_part(p[i]);
  const size_t count = merge_parts(size, 1, scratch, out, [&](size_t start, size_t middle, size_t) {
    return v.merged(out[start], out[middle]);
  });
  for (size_t i = 0; i < count; ++i) out[i] = v.id_of_part(out[i]);
  return count;
}

bool last_merge(const Vocabulary& v, const uint8_t* p, size_t size, MergeScratch& scratch,
                std::array<uint32_t, 2>& parts) {
  scratch.parts.resize(size);
  for (size_t i = 0; i < size; ++i) scratch.parts[i] = v.byte_part(p[i]);
  const size_t count = merge_parts(size, 2, scratch, scratch.parts.data(), [&](size_t start, size_t, size_t end) {
    return v.find(p + start, end - start, size - start);
  });
  if (count == 2) std::copy_n(scratch.parts.begin(), 2, parts.begin());
  return count == 2;
}

}  // namespace tokcli
