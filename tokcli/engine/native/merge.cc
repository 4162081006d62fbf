// Merging pieces: several short ones in turns, long ones by a heap. See merge.h.
#include "merge.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "processor.h"

namespace tokcli {
namespace {

// --- short pieces ----------------------------------------------------------------------------------------------------

constexpr int32_t kNoPair = INT32_MAX;
constexpr unsigned kPlaceBits = 6;
static_assert(kIdBits + kPlaceBits < 31);

inline int32_t pair_word(uint32_t rank, size_t place) {
  return rank == kNone ? kNoPair : static_cast<int32_t>(rank << kPlaceBits | static_cast<uint32_t>(place));
}

// A short piece while it is merged. Part k, whose first byte is the k-th from 1 on, has a bit in `starts` and its id in
// parts[k]; pair[k] is the rank of the part and the next one, and k below it, in one word. The smallest word is the pair
// to merge, the leftmost of equals; kNoPair where the two are no token. Before and behind the parts stands one that makes
// no token with any, so that ends need no care.
template <size_t width>
struct Lane {
  alignas(64) std::array<int32_t, width> pair;
  std::array<uint32_t, width> parts;
  uint64_t starts;
  MergeJob* job;
  // The words of the two pairs that the last merge made, not looked at yet.
  struct Open {
    Vocabulary::Question question;
    size_t place;

    int32_t word() const { return pair_word(question.answer(), place); }
  };
  std::array<Open, 2> open;

  static constexpr size_t kMostBytes = width - 2;
};
template <size_t width>
[[gnu::always_inline]] inline void begin(const Vocabulary& v, Lane<width>& lane, MergeJob* job) {
  const uint8_t* p = job->p;
  const size_t size = job->size;
  lane.job = job;
  lane.open.fill({v.ask(kNoPart, kNoPart), 0});
  lane.pair.fill(kNoPair);
  lane.parts[0] = lane.parts[size + 1] = kNoPart;
  lane.starts = (uint64_t{4} << size) - 1;
  for (size_t i = 0; i < size; ++i) lane.parts[i + 1] = v.byte_part(p[i]);
  for (size_t i = 0; i + 1 < size; ++i) lane.pair[i + 1] = pair_word(v.merged_bytes(p[i], p[i + 1]), i + 1);
}

// One merge; false when there is none left.
template <size_t width>
[[gnu::always_inline]] inline bool step(const Vocabulary& v, Lane<width>& lane) {
  const int32_t first = lane.open[0].word(), second = lane.open[1].word();
  int32_t best = lane.pair[0];
  for (size_t i = 1; i < width; ++i) best = std::min(best, lane.pair[i]);
  lane.pair[lane.open[0].place] = first;
  lane.pair[lane.open[1].place] = second;
  best = std::min(best, std::min(first, second));
  if (best == kNoPair) return false;
  const size_t start = static_cast<size_t>(best) & ((1u << kPlaceBits) - 1);
  const uint32_t token = static_cast<uint32_t>(best) >> kPlaceBits;
  const uint64_t after = lane.starts & (~uint64_t{1} << start);
  const size_t middle = static_cast<size_t>(std::countr_zero(after));
  const size_t end = static_cast<size_t>(std::countr_zero(after & (after - 1)));
  const size_t before = 63 - static_cast<size_t>(std::countl_zero(lane.starts & ((uint64_t{1} << start) - 1)));
  lane.starts &= ~(uint64_t{1} << middle);
  lane.parts[start] = token;
  lane.pair[middle] = lane.pair[start] = lane.pair[before] = kNoPair;
  lane.open = {{{v.ask(token, lane.parts[end]), start}, {v.ask(lane.parts[before], token), before}}};
  for (const auto& open : lane.open) __builtin_prefetch(open.question.slot);
  return true;
}

template <size_t width>
[[gnu::always_inline]] inline void finish(const Vocabulary& v, const Lane<width>& lane) {
  uint32_t count = 0;
  for (uint64_t rest = lane.starts & ~uint64_t{1}; rest & (rest - 1); rest &= rest - 1) {
    lane.job->out[count++] = v.id_of_part(lane.parts[static_cast<size_t>(std::countr_zero(rest))]);
  }
  lane.job->count = count;
}

// Each merge of a piece waits for the one before it: for the smallest word, for two slots of the table, and for words
// that were just stored one by one and are loaded as vectors. So pieces take turns, and what one asks of memory arrives
// while the others are worked on. (Profile: twice as fast as one piece after the other; half of that is asking early.)
template <size_t width>
[[gnu::always_inline]] inline void merge_in_turns(const Vocabulary& v, std::span<MergeJob*> jobs) {
  constexpr size_t kLanes = 12;
  std::array<Lane<width>, kLanes> lanes;
  std::array<Lane<width>*, kLanes> active;
  size_t next = 0, running = 0;
  for (; running < kLanes && next < jobs.size(); ++running) {
    active[running] = &lanes[running];
    begin(v, lanes[running], jobs[next++]);
  }
  while (running > 0) {
    for (size_t i = 0; i < running;) {
      if (step(v, *active[i])) {
        ++i;
        continue;
      }
      finish(v, *active[i]);
      if (next < jobs.size()) begin(v, *active[i++], jobs[next++]);
      else std::swap(active[i], active[--running]);
    }
  }
}

[[gnu::always_inline]] inline void merge_queues(const Vocabulary& v, MergeScratch& s) {
  merge_in_turns<16>(v, s.queues[0]);
  merge_in_turns<32>(v, s.queues[1]);
  merge_in_turns<64>(v, s.queues[2]);
}
void merge_portable(const Vocabulary& v, MergeScratch& s) { merge_queues(v, s); }
#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target("avx2,bmi,bmi2,lzcnt")]] void merge_avx2(const Vocabulary& v, MergeScratch& s) { merge_queues(v, s); }
#else
constexpr auto merge_avx2 = merge_portable;
#endif

// --- long pieces -----------------------------------------------------------------------------------------------------

// O(n log n): (rank, start) in a heap, stale entries skipped. A part is known by the position of its first byte, where
// parts[] has its id; parts are linked by where they end and begin. `merged(start, middle, end)` is the id of the token
// that two parts make, which is its rank, or kNone. It stops when `until` parts are left.
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

size_t merge_bytes(const Vocabulary& v, const uint8_t* p, size_t size, MergeScratch& s, uint32_t* parts) {
  for (size_t i = 0; i < size; ++i) parts[i] = v.byte_part(p[i]);
  return merge_by_heap(size, 1, s, parts,
                       [&](size_t start, size_t middle, size_t) { return v.merged(parts[start], parts[middle]); });
}

// A piece of any size, a window at a time. Each window begins where a token of the one before it began, at some distance
// from its end. Where both begin with that token, the tokens up to it and those behind it are the tokens of the whole:
// tokens are what a text merges into if and only if each two neighbours are what their own bytes merge into (the first
// merge across two neighbours would also be made in their bytes alone; the crate `bpe` rests on this too), and each two
// neighbours stand in one window. Where they do not, everything begins again with larger windows, at last with one.
// (Profile: a heap of a million pairs waits for memory at every step; small windows are 3 to 4 times as fast.)
size_t merge_long(const Vocabulary& v, const uint8_t* p, size_t size, MergeScratch& s, uint32_t* out) {
  for (size_t window = 256;; window *= 8) {
    const size_t overlap = window / 4;
    uint32_t* next = out;  // there is room for an id for each byte of p
    for (size_t at = 0; at < size;) {
      const size_t bytes = std::min(window, size - at);
      const uint32_t expected = *next;  // the token that begins at `at`, where at > 0
      const size_t count = merge_bytes(v, p + at, bytes, s, next);
      if (at > 0 && *next != expected) break;
      if (at + bytes == size) return static_cast<size_t>(next - out) + count;
      size_t kept = 0, end = 0;  // tokens, and where the last of them ends
      for (size_t next_end; (next_end = s.end[end]) <= bytes - overlap; end = next_end) ++kept;
      if (kept == 0) break;
      next += kept;
      at += end;
    }
  }
}

}  // namespace

void merge(const Vocabulary& v, std::span<MergeJob> jobs, MergeScratch& scratch) {
  for (auto& queue : scratch.queues) queue.clear();
  for (MergeJob& job : jobs) {
    if (job.size <= Lane<16>::kMostBytes) scratch.queues[0].push_back(&job);
    else if (job.size <= Lane<32>::kMostBytes) scratch.queues[1].push_back(&job);
    else if (job.size <= Lane<64>::kMostBytes) scratch.queues[2].push_back(&job);
    else {
      job.count = static_cast<uint32_t>(merge_long(v, job.p, job.size, scratch, job.out));
      for (uint32_t i = 0; i < job.count; ++i) job.out[i] = v.id_of_part(job.out[i]);
    }
  }
  if (instructions() >= Instructions::kAvx2) merge_avx2(v, scratch);
  else merge_portable(v, scratch);
}

bool last_merge(const Vocabulary& v, const uint8_t* p, size_t size, MergeScratch& scratch,
                std::array<uint32_t, 2>& parts) {
  scratch.parts.resize(size);
  for (size_t i = 0; i < size; ++i) scratch.parts[i] = v.byte_part(p[i]);
  const size_t count = merge_by_heap(size, 2, scratch, scratch.parts.data(), [&](size_t start, size_t, size_t end) {
    return v.find(p + start, end - start, size - start);
  });
  if (count == 2) std::copy_n(scratch.parts.begin(), 2, parts.begin());
  return count == 2;
}

}  // namespace tokcli
