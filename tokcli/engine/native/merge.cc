// Merging a piece: a scan for short ones, a heap for long ones. See merge.h.
#include "merge.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace tokcli {
namespace {

// A part is known by the position of its first byte. `starts` has a bit for each part, `valid` one for each that is a
// token together with the next; pair[i] is the rank of the two, and i, in one word: the smallest word is the pair to
// merge, the leftmost of equals. Only valid pairs are looked at, and the next or previous part takes two instructions.
// (Tried: the smallest of all words by AVX-512. Loading a vector just behind the store of one of its words stalls.)
size_t merge_by_scanning(const Vocabulary& v, const uint8_t* p, size_t size, size_t readable, uint32_t* out) {
  static_assert(kScanBytes == 64 && kMaxId == 1u << 26);
  uint32_t pair[kScanBytes];
  uint64_t starts = size == 64 ? ~0ull : (1ull << size) - 1, valid = 0;
  for (size_t i = 0; i + 1 < size; ++i) {
    const uint32_t rank = v.find_pair(p + i);
    pair[i] = rank << 6 | static_cast<uint32_t>(i);
    valid |= static_cast<uint64_t>(rank != kNone) << i;
  }
  const auto next = [&](size_t at) {  // where the part after the one at `at` begins; size for none
    const uint64_t behind = starts & (~1ull << at);
    return behind ? static_cast<size_t>(std::countr_zero(behind)) : size;
  };
  const auto look_up = [&](size_t at, size_t end) {
    const uint32_t rank = v.find(p + at, end - at, readable - at);
    pair[at] = rank << 6 | static_cast<uint32_t>(at);
    valid = (valid & ~(1ull << at)) | static_cast<uint64_t>(rank != kNone) << at;
  };
  while (valid) {
    uint32_t best = kNone;
    for (uint64_t rest = valid; rest; rest &= rest - 1) best = std::min(best, pair[std::countr_zero(rest)]);
    const size_t at = best & 63, gone = next(at);
    starts &= ~(1ull << gone);
    valid &= ~(1ull << gone);
    const size_t end = next(at);
    if (end < size) look_up(at, next(end));
    else valid &= ~(1ull << at);
    const uint64_t before = starts & ((1ull << at) - 1);
    if (before) look_up(63 - static_cast<size_t>(std::countl_zero(before)), end);
  }
  size_t count = 0;
  for (size_t at = 0; at < size;) {
    const size_t end = next(at);
    out[count++] = end - at == 1 ? v.find_byte(p[at]) : v.find(p + at, end - at, readable - at);
    at = end;
  }
  return count;
}

// O(n log n): (rank, start) in a heap, stale entries skipped, parts linked by where they end and begin.
size_t merge_by_heap(const Vocabulary& v, const uint8_t* p, size_t size, size_t readable, MergeScratch& s,
                     uint32_t* out) {
  s.end.resize(size);
  s.previous.resize(size + 1);
  s.rank.assign(size, kNone);
  s.heap.clear();
  for (size_t i = 0; i < size; ++i) {
    s.end[i] = static_cast<uint32_t>(i + 1);
    s.previous[i + 1] = static_cast<uint32_t>(i);
    if (i + 1 < size && (s.rank[i] = v.find_pair(p + i)) != kNone) {
      s.heap.push_back(static_cast<uint64_t>(s.rank[i]) << 32 | i);
    }
  }
  const auto greater = std::greater<uint64_t>();
  std::make_heap(s.heap.begin(), s.heap.end(), greater);
  const auto look_at = [&](size_t start) {
    const size_t middle = s.end[start];
    uint32_t rank = kNone;
    if (middle < size) rank = v.find(p + start, s.end[middle] - start, readable - start);
    s.rank[start] = rank;
    if (rank != kNone) {
      s.heap.push_back(static_cast<uint64_t>(rank) << 32 | start);
      std::push_heap(s.heap.begin(), s.heap.end(), greater);
    }
  };
  while (!s.heap.empty()) {
    const uint64_t top = s.heap.front();
    std::pop_heap(s.heap.begin(), s.heap.end(), greater);
    s.heap.pop_back();
    const size_t start = static_cast<uint32_t>(top);
    if (s.rank[start] != top >> 32) continue;
    const size_t middle = s.end[start];
    s.rank[middle] = kNone;
    s.end[start] = s.end[middle];
    s.previous[s.end[start]] = static_cast<uint32_t>(start);
    look_at(start);
    if (start > 0) look_at(s.previous[start]);
  }
  size_t count = 0;
  for (size_t start = 0; start < size; start = s.end[start]) {
    const size_t length = s.end[start] - start;
    out[count++] = length == 1 ? v.find_byte(p[start]) : v.find(p + start, length, readable - start);
  }
  return count;
}

}  // namespace

size_t merge(const Vocabulary& vocabulary, const uint8_t* p, size_t size, size_t readable, MergeScratch& scratch,
             uint32_t* out) {
  if (size <= kScanBytes) return merge_by_scanning(vocabulary, p, size, readable, out);
  return merge_by_heap(vocabulary, p, size, readable, scratch, out);
}

}  // namespace tokcli
