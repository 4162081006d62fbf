// Merging pieces of any size. See merge.h.
//
// A piece is merged in windows, each on its own, and their tokens are put together. Tokens are what a text merges into if
// and only if every two neighbours are what their own bytes merge into: the first merge that crosses a border would also
// be made in the bytes of the two alone (the crate `bpe` rests on this too). So windows overlap. Where two of them have a
// border at the same place, and the same token after it, the tokens of the first up to there and those of the second
// from there on are the tokens of both: every two neighbours are in one of the windows.
//
// Windows of 62 bytes are merged as short pieces are, twelve in turns. (Profile, ms/MB of text without borders: 65 in
// windows of 256 bytes with a heap each.) Where two of them do not fit together, a larger window with a heap goes on
// from the last border; where that does not fit, either, all begins again in ever larger windows, in the end one. Text
// that repeats itself has windows of its own, which hold runs of any length (repeats.h).
#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "bpe/merging/merge.h"

namespace tokcli {
namespace {

constexpr size_t kStride = 40, kOverlap = kWindowBytes - kStride;  // bytes from window to window
constexpr size_t kLargerWindow = 256, kLeastWindows = 2, kMostHeaps = 32;

// Merges with a heap of (rank, start), in O(n log n); entries that have become stale are skipped. A part is known by
// where its first byte is: there `parts` has its id, `ends` its end, and `ranks` the rank of merging it with the next
// part. `merged(start, middle, end)` returns the token that two parts make (which is the rank), or kNone. Merging stops
// when `until` parts are left; their number is returned, and `parts` begins with them.
template <class Merged>
size_t merge_by_heap(size_t size, size_t until, MergeScratch& s, uint32_t* parts, const Merged& merged) {
  uint32_t *const ends = s.end.room(size), *const previous = s.previous.room(size + 1), *const ranks = s.rank.room(size);
  const auto greater = std::greater<uint64_t>();
  const auto add = [&](uint32_t rank, size_t start) {
    *s.heap.reserve(1) = static_cast<uint64_t>(rank) << 32 | start;
    s.heap.commit(1);
  };
  s.heap.clear();
  for (size_t i = 0; i < size; ++i) {
    s.pace.step();
    ends[i] = static_cast<uint32_t>(i + 1);
    previous[i + 1] = static_cast<uint32_t>(i);
    ranks[i] = i + 1 < size ? merged(i, i + 1, i + 2) : kNone;
    if (ranks[i] != kNone) add(ranks[i], i);
  }
  std::make_heap(s.heap.data(), s.heap.data() + s.heap.size(), greater);
  const auto look_up = [&](size_t start) {
    const size_t middle = ends[start];
    const uint32_t rank = middle < size ? merged(start, middle, ends[middle]) : kNone;
    ranks[start] = rank;
    if (rank == kNone) return;
    add(rank, start);
    std::push_heap(s.heap.data(), s.heap.data() + s.heap.size(), greater);
  };
  for (size_t left = size; s.heap.size() > 0 && left > until;) {
    s.pace.step();
    const uint64_t top = *s.heap.data();
    std::pop_heap(s.heap.data(), s.heap.data() + s.heap.size(), greater);
    s.heap.pop();
    const size_t start = static_cast<uint32_t>(top);
    if (ranks[start] != top >> 32) continue;
    const size_t middle = ends[start];
    parts[start] = ranks[start];
    ranks[middle] = kNone;
    ends[start] = ends[middle];
    previous[ends[start]] = static_cast<uint32_t>(start);
    look_up(start);
    if (start > 0) look_up(previous[start]);
    --left;
  }
  size_t count = 0;
  for (size_t start = 0; start < size; start = ends[start]) parts[count++] = parts[start];
  return count;
}

// Merges some bytes with a heap, which leaves the ends of the tokens in `s.end`.
size_t merge_bytes(const Vocabulary& v, const uint8_t* p, size_t size, MergeScratch& s, uint32_t* parts) {
  for (size_t i = 0; i < size; ++i) parts[i] = v.byte_part(p[i]);
  return merge_by_heap(size, 1, s, parts,
                       [&](size_t start, size_t middle, size_t) { return v.merged(parts[start], parts[middle]); });
}

void to_ids(const Vocabulary& v, uint32_t* parts, size_t count) {
  for (size_t i = 0; i < count; ++i) parts[i] = v.id_of_part(parts[i]);
}

// Merges a piece in windows with a heap each. Each begins where a token of the one before it begins, a quarter of a
// window before that one's end. (Profile: a heap of a million pairs waits for memory at every step; small windows are 3
// to 4 times as fast.)
size_t merge_in_heaps(const Vocabulary& v, const uint8_t* p, size_t size, MergeScratch& s, uint32_t* out) {
  for (size_t window = 4 * kLargerWindow;; window *= 8) {
    const size_t overlap = window / 4;
    uint32_t* next = out;  // `out` has room for an id for each byte
    for (size_t at = 0; at < size;) {
      const size_t bytes = std::min(window, size - at);
      const uint32_t expected = *next;  // the token that begins at `at`, where at > 0
      const size_t count = merge_bytes(v, p + at, bytes, s, next);
      if (at > 0 && *next != expected) break;
      if (at + bytes == size) {
        to_ids(v, out, static_cast<size_t>(next - out) + count);
        return static_cast<size_t>(next - out) + count;
      }
      size_t kept = 0, end = 0;  // the number of tokens before the overlap, and where the last of them ends
      for (size_t next_end; (next_end = s.end.data()[end]) <= bytes - overlap; end = next_end) ++kept;
      if (kept == 0) break;
      next += kept;
      at += end;
    }
  }
}

// Returns the number of a window's tokens before a byte.
size_t tokens_before(const MergeWindow& window, size_t byte) {
  return static_cast<size_t>(std::popcount(window.starts & ((uint64_t{1} << byte) - 1)));
}

// Adds windows for what is left of a piece.
void add_windows(const Vocabulary& v, LongPiece& piece, MergeScratch& s) {
  const MergeJob& job = *piece.job;
  const size_t left = job.size - piece.at;
  const size_t needed = left <= kWindowBytes ? 1 : 2 + (left - kWindowBytes - 1) / kStride;
  piece.first = s.windows.size();
  piece.count = std::min(needed, piece.heaps == 1 ? kMostWindows : kLeastWindows);
  for (size_t i = 0, at = piece.at; i < piece.count; ++i, at += kStride) {
    const auto size = static_cast<uint32_t>(std::min<size_t>(kWindowBytes, job.size - at));
    s.windows.push_back({{job.p + at, size, 0, nullptr}, 0});
  }
}

// Puts the tokens of a piece's windows together, and returns whether they fit.
bool put_together(LongPiece& piece, std::span<const MergeWindow> windows) {
  if (piece.at > 0 && windows[0].out[0] != piece.expected) return false;
  size_t begin = 0;  // the byte of the window from which its tokens are taken
  const auto stop_at = [&](size_t number) {
    piece.at += number * kStride + begin;
    piece.expected = windows[number].out[tokens_before(windows[number], begin)];
  };
  for (size_t i = 0;; ++i) {
    const MergeWindow& window = windows[i];
    const uint32_t* const first = window.out + tokens_before(window, begin);
    if (i + 1 == windows.size()) {
      if (static_cast<size_t>(window.p - piece.job->p) + window.size < piece.job->size) {
        stop_at(i);
      } else {
        piece.next = std::copy(first, static_cast<const uint32_t*>(window.out) + window.count, piece.next);
        piece.at = piece.job->size;
      }
      return true;
    }
    const MergeWindow& other = windows[i + 1];
    uint64_t borders = window.starts >> kStride & other.starts & ((uint64_t{1} << kOverlap) - 1);
    for (; borders != 0; borders &= borders - 1) {
      const auto border = static_cast<size_t>(std::countr_zero(borders));
      const uint32_t* const last = window.out + tokens_before(window, kStride + border);
      if (*last != other.out[tokens_before(other, border)]) continue;
      piece.next = std::copy(first, last, piece.next);
      begin = border;
      break;
    }
    if (borders == 0) {
      stop_at(i);
      return false;
    }
  }
}

// Goes on with a larger window, which has a heap; returns whether it fits what is there.
bool go_on_with_heap(const Vocabulary& v, LongPiece& piece, MergeScratch& s) {
  const size_t left = piece.job->size - piece.at, bytes = std::min(kLargerWindow, left);
  size_t count = merge_bytes(v, piece.job->p + piece.at, bytes, s, piece.next), end = bytes;
  to_ids(v, piece.next, count);
  if (piece.at > 0 && *piece.next != piece.expected) return false;
  if (bytes < left) {
    count = end = 0;
    for (size_t next_end; (next_end = s.end.data()[end]) <= bytes - kLargerWindow / 4; end = next_end) ++count;
    if (count == 0) return false;
  }
  piece.next += count;
  piece.at += end;
  if (bytes < left) piece.expected = *piece.next;
  return true;
}

// Writes a unit `count` times, and returns the end of what it has written.
uint32_t* write_units(const Vocabulary& v, std::span<const RepeatCell> unit, size_t count, uint32_t* to) {
  if (unit.size() == 1) return std::fill_n(to, count, v.id_of_part(unit[0].part));
  for (size_t i = 0; i < count; ++i) {
    for (const RepeatCell& cell : unit) *to++ = v.id_of_part(cell.part);
  }
  return to;
}

// Goes on with a window of runs where the text repeats itself; returns whether it does and the window fits what is there.
bool go_on_with_repeats(const Vocabulary& v, LongPiece& piece, MergeScratch& s) {
  const uint8_t* const p = piece.job->p + piece.at;
  const size_t left = piece.job->size - piece.at;
  if (!RepeatMerger::may_repeat(p, left) || !s.repeats.merge(v, p, left)) return false;
  const std::vector<RepeatCell>& cells = s.repeats.cells();
  s.pace.step(cells.size() * kStride);
  if (piece.at > 0 && v.id_of_part(cells[0].part) != piece.expected) return false;
  const size_t sure = s.repeats.bytes() < left ? s.repeats.sure_bytes() : left;
  size_t done = 0, i = 0;
  while (i < cells.size()) {
    const auto unit = std::span(cells).subspan(i, cells[i].width);
    size_t bytes = 0;
    for (const RepeatCell& cell : unit) bytes += cell.size;
    const size_t count = std::min<size_t>(unit[0].count, (sure - done) / bytes);
    piece.next = write_units(v, unit, count, piece.next);
    done += count * bytes;
    if (count < unit[0].count) break;
    i += unit.size();
  }
  if (i < cells.size()) piece.expected = v.id_of_part(cells[i].part);
  piece.at += done;
  return done > 0;
}

// Goes on where windows do not fit together: with runs, or with larger windows, `heaps` of them. Returns whether these fit.
bool go_on(const Vocabulary& v, LongPiece& piece, MergeScratch& s, size_t heaps) {
  for (; heaps > 0 && piece.at < piece.job->size; --heaps) {
    if (!go_on_with_repeats(v, piece, s) && !go_on_with_heap(v, piece, s)) return false;
  }
  return true;
}

// Merges all windows that there are, each on its own.
void merge_all_windows(const Vocabulary& v, MergeScratch& s) {
  s.pace.step(s.windows.size() * kStride);
  s.window_queue.clear();
  uint32_t* const ids = s.window_ids.room(s.windows.size() * kWindowBytes);
  for (size_t i = 0; i < s.windows.size(); ++i) {
    s.windows[i].out = ids + i * kWindowBytes;
    s.window_queue.push_back(&s.windows[i]);
  }
  merge_windows(v, s.window_queue);
}

}  // namespace

void merge_long(const Vocabulary& v, MergeScratch& s) {
  while (!s.long_pieces.empty()) {
    s.windows.clear();
    size_t taken = 0;  // pieces, from the end
    while (taken < s.long_pieces.size() && s.windows.size() < kMostWindows) {
      LongPiece& piece = s.long_pieces[s.long_pieces.size() - ++taken];
      piece.count = 0;
      while (piece.at < piece.job->size && go_on_with_repeats(v, piece, s)) continue;
      if (piece.at < piece.job->size) add_windows(v, piece, s);
    }
    merge_all_windows(v, s);
    for (size_t number = s.long_pieces.size(); taken > 0; --taken) {
      LongPiece& piece = s.long_pieces[--number];
      MergeJob& job = *piece.job;
      if (piece.count > 0) {
        bool fits = put_together(piece, std::span<const MergeWindow>(s.windows).subspan(piece.first, piece.count));
        const size_t heaps = std::exchange(piece.heaps, fits ? 1 : std::min(kMostHeaps, 2 * piece.heaps));
        if (!fits && !go_on(v, piece, s, heaps)) {
          piece.next = job.out + merge_in_heaps(v, job.p, job.size, s, job.out);
          piece.at = job.size;
        }
      }
      if (piece.at < job.size) continue;
      job.count = static_cast<uint32_t>(piece.next - job.out);
      piece = s.long_pieces.back();
      s.long_pieces.pop_back();
    }
  }
}

bool last_merge(const Vocabulary& v, const uint8_t* p, size_t size, MergeScratch& scratch,
                std::array<uint32_t, 2>& parts) {
  uint32_t* const found = scratch.parts.room(size);
  for (size_t i = 0; i < size; ++i) found[i] = v.byte_part(p[i]);
  const size_t count = merge_by_heap(size, 2, scratch, found, [&](size_t start, size_t, size_t end) {
    return v.find(p + start, end - start, size - start);
  });
  if (count == 2) std::copy_n(found, 2, parts.begin());
  return count == 2;
}

}  // namespace tokcli
