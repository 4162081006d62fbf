// Merging the symbols of a word (BPE): the pair of the lowest order first, of equal ones the leftmost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/id_buffer.h"
#include "models/word_models.h"

namespace tokcli::merging {

using Symbol = WordScratch::Symbol;
using Candidate = WordScratch::Candidate;

constexpr size_t kShort = 24;    // up to so many symbols, looking at all of them for each merge beats a heap
constexpr size_t kWindow = 256;  // symbols of a longer word that are merged together
constexpr size_t kLarger = 8;    // times as many, where they do not fit together
constexpr int32_t kNoSymbol = -1;

// Merges the symbols of a short word until no two neighbours can be merged. `find(left, right, &order, &made)` returns
// whether two can be, and when (the lowest order first, then the leftmost). All candidates are in one array; each round
// takes the lowest.
template <class Find>
void merge_short(std::vector<Symbol>& symbols, const Find& find) {
  uint32_t orders[kShort], made[kShort];
  size_t count = symbols.size();
  const auto ask = [&](size_t i) {
    orders[i] = kNone;
    if (i + 1 < count && !find(symbols[i], symbols[i + 1], &orders[i], &made[i])) orders[i] = kNone;
  };
  for (size_t i = 0; i < count; ++i) ask(i);
  while (count > 1) {
    size_t lowest = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (orders[i] < orders[lowest]) lowest = i;
    }
    if (orders[lowest] == kNone) break;
    symbols[lowest].id = made[lowest];
    symbols[lowest].end = symbols[lowest + 1].end;
    --count;
    for (size_t i = lowest + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      orders[i] = orders[i + 1];
      made[i] = made[i + 1];
    }
    ask(lowest);
    if (lowest > 0) ask(lowest - 1);
  }
  symbols.resize(count);
}

// Merges symbols with a heap, in O(n log n); candidates that have become stale are skipped. Afterwards each symbol that is
// left says by `next` where the next one is; the first one stays at the beginning.
template <class Find>
void merge_by_heap(std::vector<Symbol>& symbols, WordScratch& scratch, const Find& find) {
  std::vector<Candidate>& heap = scratch.heap;
  const auto is_later = [](const Candidate& a, const Candidate& b) { return a.order > b.order; };
  const auto count = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols[i].previous = i - 1;
    symbols[i].next = i + 1 < count ? i + 1 : kNoSymbol;
  }
  heap.clear();
  const auto consider = [&](int32_t left, int32_t right) {
    uint32_t order = 0, made = 0;
    if (!find(symbols[left], symbols[right], &order, &made)) return;
    heap.push_back({static_cast<uint64_t>(order) << 32 | static_cast<uint32_t>(left), made});
    std::push_heap(heap.begin(), heap.end(), is_later);
  };
  for (int32_t i = 0; i + 1 < count; ++i) {
    scratch.pace.step();
    consider(i, i + 1);
  }
  while (!heap.empty()) {
    scratch.pace.step();
    std::pop_heap(heap.begin(), heap.end(), is_later);
    const Candidate best = heap.back();
    heap.pop_back();
    const auto at = static_cast<int32_t>(static_cast<uint32_t>(best.order));
    Symbol& left = symbols[at];
    uint32_t order = 0, made = 0;
    if (left.begin == left.end || left.next == kNoSymbol) continue;  // one of the two has been merged since
    if (!find(left, symbols[left.next], &order, &made) || made != best.made) continue;
    Symbol& right = symbols[left.next];
    left.id = made;
    left.end = right.end;
    right.begin = right.end;
    left.next = right.next;
    if (left.next != kNoSymbol) symbols[left.next].previous = at;
    if (left.previous != kNoSymbol) consider(left.previous, at);
    if (left.next != kNoSymbol) consider(at, left.next);
  }
}

// Returns whether two rows of `count` symbols merge in the same way: that is known of those that are tokens.
inline bool are_same(const Symbol* a, const Symbol* b, size_t count) {
  return std::equal(a, a + count, b, [](const Symbol& one, const Symbol& other) {
    return one.id == other.id && one.id != kNone && one.end - one.begin == other.end - other.begin;
  });
}

// Merges the symbols of a long word in windows, each on its own, and writes what they make to scratch.merged. A window
// begins where a symbol that the window before it has made begins, and has to make the same one. Then every two neighbours
// are what their own text merges into, and so they are what the word merges into (see bpe/merging/long_merge.cc). Where a window
// makes another, the one before it is merged again with more symbols. A window that repeats the one before is not merged: in
// a run of one character, hardly any is. Returns false where windows have to be larger from the beginning.
template <class Find>
bool merge_in_windows(WordScratch& scratch, size_t least, const Find& find) {
  const std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<Symbol>&window = scratch.window, &merged = scratch.merged;
  merged.clear();
  window.clear();
  const Symbol* from = symbols.data();  // the symbols that were merged last
  struct Place {
    size_t at, merged;  // the number of symbols before it, and of those that they have become
    Symbol expected;    // what begins there
    size_t most;        // symbols of the window that begins there
  };
  Place here{0, 0, {}, least}, before = here;  // where this window and the one before it begin
  for (;;) {
    const size_t left = symbols.size() - here.at, size = std::min(here.most, left);
    scratch.pace.step(size);
    if (window.size() != size || !are_same(from, &symbols[here.at], size)) {
      from = &symbols[here.at];
      window.assign(from, from + size);
      merge_by_heap(window, scratch, find);
    }
    const auto moved = [by = symbols[here.at].begin - from->begin](Symbol symbol) {
      symbol.begin += by;
      symbol.end += by;
      return symbol;
    };
    if (here.at > 0 && (window[0].id != here.expected.id || moved(window[0]).end != here.expected.end)) {
      if (here.most > least) return false;
      here = before;
      here.most *= kLarger;
      merged.resize(here.merged);
      continue;
    }
    const auto sure = static_cast<int32_t>(size == left ? size : size - size / 4);
    int32_t first = 0;  // of the symbols that are left to the next window
    while (first != kNoSymbol) {
      const int32_t next = window[first].next;
      if (size < left && (next == kNoSymbol || next > sure)) break;
      merged.push_back(moved(window[first]));
      first = next;
    }
    if (first == kNoSymbol) return true;
    if (first == 0) {
      here.most *= kLarger;
      continue;
    }
    before = here;
    here = {here.at + static_cast<size_t>(first), merged.size(), moved(window[first]), least};
  }
}

// Merges the symbols of a long word. (Profile: one heap of a million pairs waits for memory at every step.)
template <class Find>
void merge_long(WordScratch& scratch, const Find& find) {
  for (size_t least = kWindow; !merge_in_windows(scratch, least, find);) least *= kLarger;
  scratch.symbols.swap(scratch.merged);
}

template <class Find>
void merge(WordScratch& scratch, const Find& find) {
  if (scratch.symbols.size() <= kShort) merge_short(scratch.symbols, find);
  else merge_long(scratch, find);
}

}  // namespace tokcli::merging
