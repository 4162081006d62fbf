// Merging many short pieces together: see short_merge.h. No loop here has a branch on what a text holds, so nothing is guessed.
#include "bpe/merging/short_merge.h"

#include <cstring>
#include <utility>

#include "base/processor.h"
#include "bpe/merging/merge.h"

namespace tokcli {
namespace {

constexpr size_t kParts = ShortPiece::kMostBytes;
using Ranks [[gnu::vector_size(kParts * sizeof(int32_t))]] = int32_t;
using Parts [[gnu::vector_size(kParts * sizeof(uint32_t))]] = uint32_t;
constexpr Ranks kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr unsigned kRowBits = 3;  // of a place
constexpr int32_t kNoRank = INT32_MAX >> kRowBits;
static_assert(kParts == 1 << kRowBits && kIdBits + kRowBits < 31);

inline int32_t rank_of(uint32_t made) { return static_cast<int32_t>(made & kNoRank); }  // (kNone has all bits)

// (Four and four, two and two: a loop would be one after another.)
[[gnu::always_inline]] inline int32_t smallest(const Ranks& ranks) {
  using Half [[gnu::vector_size(16)]] = int32_t;
  const Half low = __builtin_shufflevector(ranks, ranks, 0, 1, 2, 3), high = __builtin_shufflevector(ranks, ranks, 4, 5, 6, 7);
  const Half four = low < high ? low : high, turned = __builtin_shufflevector(four, four, 2, 3, 0, 1);
  const Half two = four < turned ? four : turned;
  return two[0] < two[1] ? two[0] : two[1];
}

// Begins with every byte as a part.
template <size_t size>
[[gnu::always_inline]] inline void begin(const Vocabulary& v, ShortPiece& piece, MergeJob* job) {
  const uint8_t* const p = job->p;
  piece.job = job;
  piece.count = size;
  piece.ranks.fill(kNoRank);
  piece.parts.fill(kNoPart);
  for (size_t i = 0; i < size; ++i) piece.parts[1 + i] = v.byte_part(p[i]);
  for (size_t i = 0; i + 1 < size; ++i) piece.ranks[1 + i] = rank_of(v.merged_bytes(p[i], p[i + 1]));
}

// Begins with all pieces, those of a size after one another; returns their number.
[[gnu::always_inline]] inline size_t begin_all(const Vocabulary& v, ShortScratch& s) {
  size_t count = 0, used = 0;
  for (const auto& jobs : s.jobs) count += jobs.size();
  ShortPiece* const pieces = s.pieces.room(count);
  const auto begin_size = [&]<size_t size>(std::integral_constant<size_t, size>) __attribute__((always_inline)) {
    for (MergeJob* const job : s.jobs[size]) begin<size>(v, pieces[used++], job);
  };
  [&]<size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    (begin_size(std::integral_constant<size_t, i + 1>()), ...);
  }(std::make_index_sequence<kParts>());
  return count;
}

// Finds the two parts with the lowest rank, and returns it above the place of the first of them.
[[gnu::always_inline]] inline uint32_t lowest(const ShortPiece& piece) {
  Ranks ranks;
  std::memcpy(&ranks, &piece.ranks[1], sizeof ranks);
  return static_cast<uint32_t>(smallest((ranks << kRowBits) | kPlaces));
}

// Joins these two parts, and asks for the pairs of the new part with its two neighbours.
[[gnu::always_inline]] inline void join(const Vocabulary& v, ShortPiece& piece, ShortScratch::Open& open) {
  const uint32_t token = open.lowest >> kRowBits, place = open.lowest & (kParts - 1);
  Ranks ranks, later_ranks;
  Parts parts, later_parts;
  std::memcpy(&ranks, &piece.ranks[1], sizeof ranks);
  std::memcpy(&later_ranks, &piece.ranks[2], sizeof ranks);
  std::memcpy(&parts, &piece.parts[1], sizeof parts);
  std::memcpy(&later_parts, &piece.parts[2], sizeof parts);
  const uint32_t left = piece.parts[place], right = piece.parts[place + 3];
  const Parts new_parts = kPlaces > static_cast<int32_t>(place) ? later_parts : parts;
  const Ranks new_ranks = kPlaces >= static_cast<int32_t>(place) ? later_ranks : ranks;
  std::memcpy(&piece.parts[1], &new_parts, sizeof new_parts);
  std::memcpy(&piece.ranks[1], &new_ranks, sizeof new_ranks);
  piece.parts[1 + place] = token;
  --piece.count;
  open.before = v.ask(left, token);
  open.after = v.ask(token, right);
  __builtin_prefetch(open.before.slot);
  __builtin_prefetch(open.after.slot);
}

// Merges all pieces, one merge of each after another. What a merge asks for has arrived when all others have made theirs.
// (Tried: to begin with the pairs of bytes that are sure to be merged, half of all merges, and of random letters three quarters.
// What they make then has to be looked up at once: here and in turns, first passes took a tenth longer.)
[[gnu::always_inline]] inline void merge_all(const Vocabulary& v, ShortScratch& s) {
  const size_t all = begin_all(v, s);
  ShortPiece* const pieces = s.pieces.data();
  ShortScratch::Open* const open = s.open.room(all);
  for (size_t k = 0; k < all; ++k) open[k].piece = static_cast<uint32_t>(k);
  for (size_t count = all; count > 0;) {
    size_t kept = 0;
    for (size_t k = 0; k < count; ++k) {
      const uint32_t piece = open[k].piece, found = lowest(pieces[piece]);
      open[kept].piece = piece;
      open[kept].lowest = found;
      kept += found >> kRowBits != static_cast<uint32_t>(kNoRank);
    }
    count = kept;
    for (size_t k = 0; k < count; ++k) join(v, pieces[open[k].piece], open[k]);
    for (size_t k = 0; k < count; ++k) {
      ShortPiece& piece = pieces[open[k].piece];
      const uint32_t place = open[k].lowest & (kParts - 1);
      piece.ranks[place] = rank_of(open[k].before.answer());
      piece.ranks[place + 1] = rank_of(open[k].after.answer());
    }
  }
  for (size_t k = 0; k < all; ++k) {
    ShortPiece& piece = pieces[k];
    Parts ids;
    std::memcpy(&ids, &piece.parts[1], sizeof ids);
    ids |= (Parts)(ids >= v.id_count());  // kNone for bytes that are no token
    std::memcpy(&piece.parts[1], &ids, sizeof ids);
    piece.job->count = piece.count;
    piece.job->out = &piece.parts[1];
  }
}

void merge_together_portable(const Vocabulary& v, ShortScratch& s) { merge_all(v, s); }
#if defined(TOKCLI_AVX)
[[gnu::target("avx2,bmi,bmi2,lzcnt")]] void merge_together_avx2(const Vocabulary& v, ShortScratch& s) { merge_all(v, s); }
#else
constexpr auto merge_together_avx2 = merge_together_portable;
#endif

}  // namespace

void merge_together(const Vocabulary& v, ShortScratch& s) {
  if (instructions() >= Instructions::kAvx2) merge_together_avx2(v, s);
  else merge_together_portable(v, s);
}

}  // namespace tokcli
