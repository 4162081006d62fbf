// Merging pieces of up to 62 bytes, several of them in turns. Of many short ones short_merge.cc merges all together, and
// long_merge.cc has the longer ones. See merge.h.
#include "bpe/merging/merge.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/processor.h"

namespace tokcli {
namespace {

constexpr size_t kManyShort = 24;  // so many short pieces are merged together: fewer are done sooner in turns

// --- pieces in turns -------------------------------------------------------------------------------------------------

constexpr int32_t kNoPair = INT32_MAX;
constexpr unsigned kPlaceBits = 6;
static_assert(kIdBits + kPlaceBits < 31);

inline int32_t pair_word(uint32_t rank, size_t place) {
  return rank == kNone ? kNoPair : static_cast<int32_t>(rank << kPlaceBits | static_cast<uint32_t>(place));
}

// A short piece while it is merged. A part is known by the place of its first byte, counted from 1: at that place it
// has a bit in `starts`, its token in `parts`, and in `pair` the rank of merging it with the next part, above its own
// place, in one word. So the smallest word is the pair to merge next, the leftmost of equals; kNoPair where the two do
// not merge. At place 0 and after the last byte there is kNoPart, which merges with nothing, so that no end is a
// special case.
template <size_t width, class Job = MergeJob>
struct Lane {
  alignas(64) std::array<int32_t, width> pair;
  std::array<uint32_t, width> parts;
  uint64_t starts;
  Job* job;
  // The two pairs that the last merge made: asked for, but not read yet.
  struct Open {
    Vocabulary::Question question;
    size_t place;

    int32_t word() const { return pair_word(question.answer(), place); }
  };
  std::array<Open, 2> open;

  static constexpr size_t kMostBytes = width - 2;
};

// Begins with the characters that are sure to be merged as parts, and every other byte. Returns false where there are none.
template <class AnyLane>
[[gnu::always_inline]] inline bool begin_with_characters(const Vocabulary& v, AnyLane& lane, const MergeWindow& job) {
  const uint8_t* const p = job.p;
  const uint64_t bytes = lane.starts;
  for (size_t i = 0; i + 3 <= job.size;) {
    const bool is_one = (p[i] & 0xF0) == 0xE0 && (p[i + 1] & p[i + 2] & 0xC0) == 0x80 && ((p[i + 1] | p[i + 2]) & 0x40) == 0 &&
                        (i + 3 == job.size || p[i + 3] >= 0xC0) && (i == 0 || (p[i - 1] & 0xC0) == 0x80);
    const uint32_t id = is_one ? v.borders().sure_character(p + i, i == 0 ? Borders::kNoByte : p[i - 1]) : kNone;
    if (id != kNone) {
      lane.parts[i + 1] = id;
      lane.starts &= ~(uint64_t{3} << (i + 2));
    }
    i += id != kNone ? 3 : 1;
  }
  if (lane.starts == bytes) return false;
  for (uint64_t rest = lane.starts & ~uint64_t{1}; rest & (rest - 1); rest &= rest - 1) {
    const auto start = static_cast<size_t>(std::countr_zero(rest)), end = static_cast<size_t>(std::countr_zero(rest & (rest - 1)));
    lane.pair[start] = pair_word(v.merged(lane.parts[start], lane.parts[end]), start);
  }
  return true;
}

// Begins with every byte as a part.
template <size_t width, class Job>
[[gnu::always_inline]] inline void begin(const Vocabulary& v, Lane<width, Job>& lane, Job* job) {
  const uint8_t* p = job->p;
  const size_t size = job->size;
  lane.job = job;
  lane.open.fill({v.ask(kNoPart, kNoPart), 0});
  lane.pair.fill(kNoPair);
  lane.parts[0] = lane.parts[size + 1] = kNoPart;
  lane.starts = (uint64_t{4} << size) - 1;
  for (size_t i = 0; i < size; ++i) lane.parts[i + 1] = v.byte_part(p[i]);
  if constexpr (std::is_same_v<Job, MergeWindow>) {
    if (v.borders().have_characters() && begin_with_characters(v, lane, *job)) return;
  }
  for (size_t i = 0; i + 1 < size; ++i) lane.pair[i + 1] = pair_word(v.merged_bytes(p[i], p[i + 1]), i + 1);
}

// Makes one merge: reads the two open pairs, finds the smallest word, joins its two parts, and asks for the pairs of
// the new part with its two neighbours. Returns false when no merge is left.
template <size_t width, class Job>
[[gnu::always_inline]] inline bool step(const Vocabulary& v, Lane<width, Job>& lane) {
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

// Writes the ids of the parts.
template <size_t width, class Job>
[[gnu::always_inline]] inline void finish(const Vocabulary& v, const Lane<width, Job>& lane) {
  uint32_t count = 0;
  for (uint64_t rest = lane.starts & ~uint64_t{1}; rest & (rest - 1); rest &= rest - 1) {
    lane.job->out[count++] = v.id_of_part(lane.parts[static_cast<size_t>(std::countr_zero(rest))]);
  }
  lane.job->count = count;
  if constexpr (std::is_same_v<Job, MergeWindow>) lane.job->starts = lane.starts >> 1;
}

// Each merge of a piece waits for the one before it: for the smallest word, for two slots of the table of merges, and
// for words that were stored one by one and are then loaded as vectors. So twelve pieces take turns, a merge each, and
// what one of them waits for arrives while the others are worked on. (Profile: twice as fast as one piece after
// another; half of that comes from asking early.)
template <size_t width, class Job>
[[gnu::always_inline]] inline void merge_in_turns(const Vocabulary& v, std::span<Job*> jobs) {
  constexpr size_t kLanes = 12;
  std::array<Lane<width, Job>, kLanes> lanes;
  std::array<Lane<width, Job>*, kLanes> active;
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
  merge_in_turns<16>(v, std::span(s.queues[0]));
  merge_in_turns<32>(v, std::span(s.queues[1]));
  merge_in_turns<64>(v, std::span(s.queues[2]));
}
void merge_portable(const Vocabulary& v, MergeScratch& s) { merge_queues(v, s); }
void merge_windows_portable(const Vocabulary& v, std::span<MergeWindow*> windows) { merge_in_turns<64>(v, windows); }
#if defined(TOKCLI_AVX)
[[gnu::target("avx2,bmi,bmi2,lzcnt")]] void merge_avx2(const Vocabulary& v, MergeScratch& s) { merge_queues(v, s); }
[[gnu::target("avx2,bmi,bmi2,lzcnt")]] void merge_windows_avx2(const Vocabulary& v, std::span<MergeWindow*> windows) {
  merge_in_turns<64>(v, windows);
}
#else
constexpr auto merge_avx2 = merge_portable;
constexpr auto merge_windows_avx2 = merge_windows_portable;
#endif

static_assert(Lane<64>::kMostBytes == kWindowBytes);

}  // namespace

void merge(const Vocabulary& v, std::span<MergeJob> jobs, MergeScratch& scratch) {
  for (auto& queue : scratch.queues) queue.clear();
  for (auto& queue : scratch.short_pieces.jobs) queue.clear();
  scratch.long_pieces.clear();
  const auto is_short = [](const MergeJob& job) { return job.size <= ShortPiece::kMostBytes; };
  const bool are_many = static_cast<size_t>(std::ranges::count_if(jobs, is_short)) >= kManyShort;
  for (MergeJob& job : jobs) {
    if (are_many && is_short(job)) scratch.short_pieces.jobs[job.size].push_back(&job);
    else if (job.size <= Lane<16>::kMostBytes) scratch.queues[0].push_back(&job);
    else if (job.size <= Lane<32>::kMostBytes) scratch.queues[1].push_back(&job);
    else if (job.size <= Lane<64>::kMostBytes) scratch.queues[2].push_back(&job);
    else scratch.long_pieces.push_back({.job = &job, .next = job.out});
  }
  if (!scratch.long_pieces.empty()) merge_long(v, scratch);
  if (are_many) merge_together(v, scratch.short_pieces);
  if (instructions() >= Instructions::kAvx2) merge_avx2(v, scratch);
  else merge_portable(v, scratch);
}

void merge_windows(const Vocabulary& v, std::span<MergeWindow*> windows) {
  if (instructions() >= Instructions::kAvx2) merge_windows_avx2(v, windows);
  else merge_windows_portable(v, windows);
}

}  // namespace tokcli
