#include "word_models.h"

#include <algorithm>

namespace tokcli {

namespace {

constexpr size_t kShort = 24;  // symbols, up to which looking at all of them beats a heap

using Symbol = WordScratch::Symbol;
using Candidate = WordScratch::Candidate;

// Merges symbols until no two neighbours may: `find(left, right, &order, &made)` says of two whether they may, and when.
// Short words: all candidates stand in a row, and each round takes the first of the lowest.
template <class Find>
void merge_short(std::vector<Symbol>& symbols, const Find& find) {
  uint32_t orders[kShort], made[kShort];
  size_t count = symbols.size();
  const auto ask = [&](size_t i) {
    orders[i] = kNothing;
    if (i + 1 < count && !find(symbols[i], symbols[i + 1], &orders[i], &made[i])) orders[i] = kNothing;
  };
  for (size_t i = 0; i < count; ++i) ask(i);
  while (count > 1) {
    size_t lowest = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (orders[i] < orders[lowest]) lowest = i;
    }
    if (orders[lowest] == kNothing) break;
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

// Long ones: a heap, from which what no longer is so is taken and left. O(n log n).
template <class Find>
void merge_long(std::vector<Symbol>& symbols, std::vector<Candidate>& heap, const Find& find) {
  const auto is_later = [](const Candidate& a, const Candidate& b) { return a.order > b.order; };
  const auto count = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols[i].previous = i - 1;
    symbols[i].next = i + 1 < count ? i + 1 : -1;
  }
  heap.clear();
  const auto consider = [&](int32_t left, int32_t right) {
    uint32_t order = 0, made = 0;
    if (!find(symbols[left], symbols[right], &order, &made)) return;
    heap.push_back({static_cast<uint64_t>(order) << 32 | static_cast<uint32_t>(left), made});
    std::push_heap(heap.begin(), heap.end(), is_later);
  };
  for (int32_t i = 0; i + 1 < count; ++i) consider(i, i + 1);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    const Candidate best = heap.back();
    heap.pop_back();
    const auto at = static_cast<int32_t>(static_cast<uint32_t>(best.order));
    Symbol& left = symbols[at];
    uint32_t order = 0, made = 0;
    if (left.begin == left.end || left.next < 0) continue;  // it was merged since
    if (!find(left, symbols[left.next], &order, &made) || made != best.made) continue;
    Symbol& right = symbols[left.next];
    left.id = made;
    left.end = right.end;
    right.begin = right.end;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = at;
    if (left.previous >= 0) consider(left.previous, at);
    if (left.next >= 0) consider(at, left.next);
  }
  std::erase_if(symbols, [](const Symbol& symbol) { return symbol.begin == symbol.end; });
}

template <class Find>
void merge(WordScratch& scratch, const Find& find) {
  if (scratch.symbols.size() <= kShort) merge_short(scratch.symbols, find);
  else merge_long(scratch.symbols, scratch.heap, find);
}

// Calls `each(begin, end)` for the kept symbols in a word, and the characters between them.
template <class Each>
void each_symbol(Bytes word, const Trie* kept, const Each& each) {
  const uint8_t *p = word.data(), *end = p + word.size();
  while (p < end) {
    uint32_t value;
    size_t size = kept != nullptr ? kept->longest(p, end, &value) : 0;
    if (size == 0) size = std::min<size_t>(utf8_size(*p), static_cast<size_t>(end - p));
    each(static_cast<uint32_t>(p - word.data()), static_cast<uint32_t>(p - word.data() + size));
    p += size;
  }
}

}  // namespace

void PairFilter::build(const Strings& texts) {
  size_t chars = 0;
  for (uint32_t i = 0; i < texts.size(); ++i) chars += texts[i].size() / 2;
  const size_t pairs = std::min<size_t>(chars, texts.size() * 2);
  unsigned logarithm = 10;
  while (logarithm < 22 && (size_t{1} << logarithm) < pairs * 16) ++logarithm;
  shift_ = 64 - logarithm;
  std::vector<uint64_t> bits((size_t{1} << logarithm) / 64);
  std::vector<uint8_t> ascii(kAscii);
  has_inner_space_ = false;
  for (uint32_t i = 0; i < texts.size(); ++i) {
    const Bytes text = bytes_of(texts[i]);
    const uint8_t *p = text.data(), *end = p + text.size();
    if (p == end) continue;
    for (uint32_t left = next_char(p, end); p < end;) {
      const uint32_t right = next_char(p, end);
      has_inner_space_ |= right == kSpace && left != kSpace;
      const uint64_t hash = hash_of(left, right);
      bits[hash >> 6] |= uint64_t{1} << (hash & 63);
      if ((left | right) < 128) ascii[left * 128 + right] = 1;
      left = right;
    }
  }
  bits_ = std::move(bits);
  ascii_ = std::move(ascii);
}

bool add_unknown(const Unknown& unknown, Bytes text, std::vector<uint32_t>& ids) {
  if (!unknown.to_bytes) {
    ids.push_back(unknown.id);
    return unknown.id != kNothing;
  }
  for (const uint8_t byte : text) {
    if (unknown.bytes[byte] == kNothing) return false;
    ids.push_back(unknown.bytes[byte]);
  }
  return true;
}

bool PieceBpe::encode(Bytes word, WordScratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  scratch.ids.clear();
  each_symbol(word, pieces_.kept_symbols(), [&](uint32_t begin, uint32_t end) {
    symbols.push_back({pieces_.strings.find(word.data() + begin, end - begin), begin, end, 0, 0});
  });
  const auto is_kept = [&](const Symbol& symbol) { return symbol.id != kNothing && is_kept_[symbol.id]; };
  merge(scratch, [&](const Symbol& left, const Symbol& right, uint32_t* order, uint32_t* made) {
    if (is_kept(left) || is_kept(right)) return false;
    *made = pieces_.strings.find(word.data() + left.begin, right.end - left.begin);
    if (*made == kNothing) return false;
    *order = orders_[*made];
    return true;
  });
  for (const Symbol& symbol : symbols) {
    if (symbol.id != kNothing) scratch.ids.push_back(pieces_.ids[symbol.id]);
    else if (!add_unknown(unknown_, word.subspan(symbol.begin, symbol.end - symbol.begin), scratch.ids)) return false;
  }
  return true;
}

void PairBpeModel::measure() {
  mask_ = std::bit_floor(std::max<size_t>(slots_.size(), 2)) - 1;
  shift_ = static_cast<unsigned>(std::countl_zero(mask_));
}

void PairBpeModel::build(const std::vector<Merge>& merges, Settings settings) {
  settings_ = std::move(settings);
  std::vector<Merge> slots(std::bit_ceil(merges.size() * 2 + 2), {UINT64_MAX, 0, 0});
  slots_ = Table<Merge>::at(slots);
  measure();
  for (const Merge& merge : merges) {
    size_t slot = merge.pair * 0x9E3779B97F4A7C15u >> shift_;
    while (slots[slot].pair != UINT64_MAX) slot = (slot + 1) & mask_;
    slots[slot] = merge;
  }
  slots_ = std::move(slots);
}

bool PairBpeModel::fits() const {
  return slots_.size() == mask_ + 1 &&
         std::any_of(slots_.begin(), slots_.end(), [](const Merge& merge) { return merge.pair == UINT64_MAX; });
}

// The characters of a word as tokens. What is unknown is one part with what is unknown behind it, if they are fused; bytes
// come before it even then, as in the library.
bool PairBpeModel::characters(Bytes word, WordScratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  const uint8_t *p = word.data(), *end = p + word.size();
  bool is_pending = false, is_known = true;
  uint32_t at = 0;  // no place in the word, but a number that ascends
  const auto add = [&](uint32_t id) {
    symbols.push_back({id, at, at + 1, 0, 0});
    ++at;
  };
  const auto add_pending = [&] {
    is_known &= unknown_.id != kNothing;
    add(unknown_.id);
    is_pending = false;
  };
  std::string decorated;
  while (p < end) {
    const uint8_t* begin = p;
    next_char(p, end);
    Bytes text{begin, static_cast<size_t>(p - begin)};
    const bool has_prefix = begin != word.data() && !settings_.prefix.empty();
    const bool has_suffix = p == end && !settings_.suffix.empty();
    if (has_prefix || has_suffix) {
      decorated.assign(has_prefix ? settings_.prefix : std::string());
      decorated += view_of(text);
      if (has_suffix) decorated += settings_.suffix;
      text = bytes_of(decorated);
    }
    if (const uint32_t number = tokens_.strings.find(text.data(), text.size()); number != kNothing) {
      if (is_pending) add_pending();
      add(tokens_.ids[number]);
      continue;
    }
    if (unknown_.to_bytes &&
        std::all_of(text.begin(), text.end(), [&](uint8_t byte) { return unknown_.bytes[byte] != kNothing; })) {
      for (const uint8_t byte : text) add(unknown_.bytes[byte]);
      continue;
    }
    if (settings_.has_unknown) {
      if (is_pending && !settings_.fuse_unknown) add_pending();
      is_pending = true;
    }
  }
  if (is_pending) add_pending();
  return is_known;
}

bool PairBpeModel::encode(Bytes word, WordScratch& scratch) const {
  scratch.ids.clear();
  if (!characters(word, scratch)) return false;
  merge(scratch, [&](const Symbol& left, const Symbol& right, uint32_t* order, uint32_t* made) {
    const Merge* found = find(left.id, right.id);
    if (found == nullptr) return false;
    *order = found->rank;
    *made = found->made;
    return true;
  });
  for (const Symbol& symbol : scratch.symbols) scratch.ids.push_back(symbol.id);
  return true;
}

void WordPieceModel::build(std::string_view prefix, size_t max_chars) {
  max_chars_ = max_chars;
  inner_ = Trie::kRoot;
  for (const uint8_t byte : bytes_of(prefix)) {
    if (inner_ != kNothing) inner_ = tokens_.trie.step(inner_, byte);
  }
}

bool WordPieceModel::encode(Bytes word, WordScratch& scratch) const {
  auto& ids = scratch.ids;
  ids.clear();
  const uint8_t *p = word.data(), *end = p + word.size();
  const auto chars = static_cast<size_t>(std::count_if(p, end, [](uint8_t b) { return (b & 0xC0) != 0x80; }));
  bool is_whole = chars <= max_chars_;
  uint32_t from = Trie::kRoot;
  while (is_whole && p < end) {
    const uint8_t* behind = nullptr;
    uint32_t id = kNothing, node = from;
    for (const uint8_t* at = p; at < end && node != kNothing;) {
      node = tokens_.trie.step(node, *at++);
      if (node == kNothing) break;
      if (const uint32_t number = tokens_.trie.value(node); number != kNothing) {
        id = tokens_.ids[number];
        behind = at;
      }
    }
    is_whole = behind != nullptr;
    if (!is_whole) break;
    ids.push_back(id);
    p = behind;
    from = inner_;
  }
  if (!is_whole) ids.assign(1, unknown_.id);
  return ids.empty() || ids[0] != kNothing;
}

bool WholeModel::encode(Bytes word, WordScratch& scratch) const {
  scratch.ids.clear();
  bool is_good = true;
  const auto add = [&](uint32_t begin, uint32_t end) {
    const uint32_t number = tokens_.strings.find(word.data() + begin, end - begin);
    if (number != kNothing) scratch.ids.push_back(tokens_.ids[number]);
    else is_good &= add_unknown(unknown_, word.subspan(begin, end - begin), scratch.ids);
  };
  if (by_character_) each_symbol(word, tokens_.kept_symbols(), add);
  else add(0, static_cast<uint32_t>(word.size()));
  return is_good;
}

}  // namespace tokcli
