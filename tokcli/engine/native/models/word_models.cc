// Merging symbols, and the models of words: see word_models.h.
#include "models/word_models.h"

#include <algorithm>

#include "models/symbol_merging.h"
#include "text/utf8.h"

namespace tokcli {

namespace {

using Symbol = WordScratch::Symbol;

// Calls each(begin, end) for the kept symbols in a word and for the characters between them.
template <class Each>
void each_symbol(Bytes word, const Trie* kept, Pace& pace, const Each& each) {
  const uint8_t *p = word.data(), *end = p + word.size();
  while (p < end) {
    pace.step();
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
    return unknown.id != kNone;
  }
  for (const uint8_t byte : text) {
    if (unknown.bytes[byte] == kNone) return false;
    ids.push_back(unknown.bytes[byte]);
  }
  return true;
}

void Tokens::measure(const Unknown& unknown) {
  constexpr size_t kMostApart = 4, kFew = size_t{1} << 16;
  uint32_t largest = 0;
  for (const uint32_t id : ids) largest = std::max(largest, id);
  if (largest >= kMostApart * ids.size() + kFew) return;
  sizes.assign(size_t{largest} + 1, 0);
  for (uint32_t i = 0; i < ids.size(); ++i) {
    uint32_t& size = sizes[ids[i]];
    size = size == 0 ? static_cast<uint32_t>(strings[i].size()) : kNoSize;
  }
  const auto has_none = [&](uint32_t id) {
    if (id < sizes.size()) sizes[id] = kNoSize;
  };
  has_none(unknown.id);
  if (unknown.to_bytes) std::for_each(unknown.bytes.begin(), unknown.bytes.end(), has_none);
}

bool PieceBpe::encode(Bytes word, WordScratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  scratch.clear();
  each_symbol(word, pieces_.kept_symbols(), scratch.pace, [&](uint32_t begin, uint32_t end) {
    symbols.push_back({pieces_.strings.find_char(word.data() + begin, end - begin), begin, end, 0, 0});
  });
  const auto is_kept = [&](const Symbol& symbol) { return symbol.id != kNone && is_kept_[symbol.id]; };
  merging::merge(scratch, [&](const Symbol& left, const Symbol& right, uint32_t* order, uint32_t* made) {
    if (is_kept(left) || is_kept(right)) return false;
    *made = pieces_.strings.find_merged(word.data() + left.begin, right.end - left.begin);
    if (*made == kNone) return false;
    *order = orders_[*made];
    return true;
  });
  for (const Symbol& symbol : symbols) {
    if (symbol.id != kNone) scratch.ids.push_back(pieces_.ids[symbol.id]);
    else if (!add_unknown(unknown_, word.subspan(symbol.begin, symbol.end - symbol.begin), scratch.ids)) return false;
    if (scratch.wants_places) scratch.places.resize(scratch.ids.size(), {symbol.begin, symbol.end});
  }
  return true;
}

void PairBpeModel::measure() {
  mask_ = std::bit_floor(std::max<size_t>(slots_.size(), 2)) - 1;
  shift_ = static_cast<unsigned>(std::countl_zero(mask_));
}

void PairBpeModel::build(const std::vector<PairMerge>& merges, Options options) {
  options_ = std::move(options);
  std::vector<PairMerge> slots(std::bit_ceil(merges.size() * 2 + 2), {UINT64_MAX, 0, 0});
  slots_ = Table<PairMerge>::at(slots);
  measure();
  for (const PairMerge& merge : merges) {
    size_t slot = slot_of(merge.pair);
    while (slots[slot].pair != UINT64_MAX) slot = (slot + 1) & mask_;
    slots[slot] = merge;
  }
  slots_ = std::move(slots);
}

bool PairBpeModel::fits() const {
  return slots_.size() == mask_ + 1 &&
         std::any_of(slots_.begin(), slots_.end(), [](const PairMerge& merge) { return merge.pair == UINT64_MAX; });
}

// Turns the characters of a word into tokens. Unknown characters that follow each other become one symbol, if they are
// fused. It is added when the next known character comes, so that the bytes of a character in between come before it,
// as in the library. So the places of symbols are not those of their characters where some are unknown: each symbol has
// as many bytes as its characters, and symbols follow each other.
bool PairBpeModel::characters(Bytes word, WordScratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  const uint8_t *p = word.data(), *end = p + word.size();
  bool is_known = true;
  uint32_t at = 0, pending = 0;  // `pending`: the bytes of unknown characters that are no symbol yet
  const auto add = [&](uint32_t id, size_t size) {
    symbols.push_back({id, at, at + static_cast<uint32_t>(size), 0, 0});
    at = symbols.back().end;
  };
  const auto add_pending = [&] {
    is_known &= unknown_.id != kNone;
    add(unknown_.id, pending);
    pending = 0;
  };
  std::string decorated;
  while (p < end) {
    scratch.pace.step();
    const uint8_t* begin = p;
    next_char(p, end);
    const auto size = static_cast<uint32_t>(p - begin);
    Bytes text{begin, size};
    const bool has_prefix = begin != word.data() && !options_.prefix.empty();
    const bool has_suffix = p == end && !options_.suffix.empty();
    if (has_prefix || has_suffix) {
      decorated.assign(has_prefix ? options_.prefix : std::string());
      decorated += view_of(text);
      if (has_suffix) decorated += options_.suffix;
      text = bytes_of(decorated);
    }
    if (const uint32_t number = tokens_.strings.find_char(text.data(), text.size()); number != kNone) {
      if (pending > 0) add_pending();
      add(tokens_.ids[number], size);
      continue;
    }
    if (unknown_.to_bytes &&
        std::all_of(text.begin(), text.end(), [&](uint8_t byte) { return unknown_.bytes[byte] != kNone; })) {
      for (const uint8_t byte : text) add(unknown_.bytes[byte], 1);
      continue;
    }
    if (options_.has_unknown) {
      if (pending > 0 && !options_.fuse_unknown) add_pending();
      pending += size;
    }
  }
  if (pending > 0) add_pending();
  return is_known;
}

// Writes the characters that the bytes of each symbol are in; those that are too many (of a suffix) are in the last one.
void PairBpeModel::place_symbols(Bytes word, WordScratch& scratch) {
  const auto is_inside = [&](size_t at) { return at < word.size() && !begins_char(word[at]); };
  for (const Symbol& symbol : scratch.symbols) {
    size_t begin = std::min<size_t>(symbol.begin, word.size() - 1), end = std::min<size_t>(symbol.end, word.size());
    while (begin > 0 && is_inside(begin)) --begin;
    while (is_inside(end)) ++end;
    scratch.add(symbol.id, begin, end);
  }
}

bool PairBpeModel::encode(Bytes word, WordScratch& scratch) const {
  scratch.clear();
  if (!characters(word, scratch)) return false;
  merging::merge(scratch, [&](const Symbol& left, const Symbol& right, uint32_t* order, uint32_t* made) {
    const PairMerge* found = find(left.id, right.id);
    if (found == nullptr) return false;
    *order = found->rank;
    *made = found->made;
    return true;
  });
  if (scratch.wants_places && !word.empty()) place_symbols(word, scratch);
  else for (const Symbol& symbol : scratch.symbols) scratch.ids.push_back(symbol.id);
  return true;
}

void WordPieceModel::build(std::string_view prefix, size_t max_chars) {
  max_chars_ = max_chars;
  prefix_size_ = static_cast<uint32_t>(prefix.size());
  inner_ = Trie::kRoot;
  for (const uint8_t byte : bytes_of(prefix)) {
    if (inner_ != kNone) inner_ = tokens_.trie.step(inner_, byte);
  }
}

bool WordPieceModel::encode(Bytes word, WordScratch& scratch) const {
  auto& ids = scratch.ids;
  scratch.clear();
  const uint8_t *p = word.data(), *end = p + word.size();
  const auto chars = static_cast<size_t>(std::count_if(p, end, begins_char));
  bool is_whole = chars <= max_chars_;
  const uint32_t token = is_whole ? tokens_.strings.find(p, word.size()) : kNone;
  if (token != kNone) {  // as most words are: there is no longer one
    scratch.add(tokens_.ids[token], 0, word.size());
    return ids[0] != kNone;
  }
  uint32_t from = Trie::kRoot;
  while (is_whole && p < end) {
    const uint8_t *after = nullptr, *at = p;  // the end of the longest token so far; the next byte
    uint32_t id = kNone, node = from;
    while (at < end && node != kNone) {
      node = tokens_.trie.step(node, *at++);
      if (node == kNone) break;
      if (const uint32_t number = tokens_.trie.value(node); number != kNone) {
        id = tokens_.ids[number];
        after = at;
      }
    }
    scratch.pace.step(static_cast<size_t>(at - p));
    is_whole = after != nullptr;
    if (!is_whole) break;
    scratch.add(id, static_cast<size_t>(p - word.data()), static_cast<size_t>(after - word.data()));
    p = after;
    from = inner_;
  }
  if (!is_whole) {
    scratch.clear();
    scratch.add(unknown_.id, 0, word.size());
  }
  return ids.empty() || ids[0] != kNone;
}

bool WholeModel::encode(Bytes word, WordScratch& scratch) const {
  scratch.clear();
  bool is_good = true;
  const auto add = [&](uint32_t begin, uint32_t end) {
    const uint32_t number = tokens_.strings.find(word.data() + begin, end - begin);
    if (number != kNone) scratch.ids.push_back(tokens_.ids[number]);
    else is_good &= add_unknown(unknown_, word.subspan(begin, end - begin), scratch.ids);
    if (scratch.wants_places) scratch.places.resize(scratch.ids.size(), {begin, end});
  };
  if (by_character_) each_symbol(word, tokens_.kept_symbols(), scratch.pace, add);
  else add(0, static_cast<uint32_t>(word.size()));
  return is_good;
}

}  // namespace tokcli
