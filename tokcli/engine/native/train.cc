// See train.h.
//
// All pieces stand in one row of symbols, with kEnd between them. A token of several symbols has its id at the first and
// at the last of them, so that both neighbours of a token are found from where it begins and from the number of symbols
// that each token spans: no links are stored.
//
// Work goes in rounds. A round counts all pairs of neighbours and keeps those that occur `floor` times or more: each with
// a list of the places where it stands. The count of a pair never rises once both its tokens are there (all its places
// come with the merge that makes the younger of them), so what is below the floor stays below it: such pairs are neither
// kept nor counted until no pair above the floor is left, and a round with a lower floor begins. Before it, the row is
// packed: one symbol a token, and pieces that have become one token are gone. So the tables stay small (most pairs are
// rare and never merged), and each round has less to read. A merge costs what it changes, however long a piece is.
#include "train.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <new>
#include <numeric>

namespace tokcli {
namespace {

constexpr uint64_t kFloorDivisor = 1024;  // of the largest count, for the floor of a round
constexpr uint64_t kLargeDivisor = 16;    // the same for a row that is large: lists take twice its memory
constexpr size_t kLarge = size_t{1} << 24;  // symbols
constexpr unsigned kMostPartBits = 4;      // of a hash, for pairs that are counted in parts
constexpr unsigned kBlockBits = 5;      // symbols, 2^5 together, whose weight is looked up together
constexpr size_t kPage = size_t{1} << 16;
constexpr uint64_t kMaxParts = 0xFFFFFFF0u;  // places are 32 bits

using Place = uint32_t;

struct Pair {
  uint64_t key = kNoPair;  // left << 32 | right
  uint64_t count = 0;
  Place* places = nullptr;
  uint32_t size = 0;  // of places
  static constexpr uint64_t kNoPair = ~uint64_t{0};
};
constexpr uint64_t pair_key(uint64_t left, uint64_t right) { return left << 32 | right; }

// Pairs by key: open addressing with linear probing.
class PairTable {
 public:
  explicit PairTable(unsigned bits = 10) : slots_(size_t{1} << bits), bits_(bits) {}
  Pair* find(uint64_t key) {
    for (size_t slot = first(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].key == key) return &slots_[slot];
      if (slots_[slot].key == Pair::kNoPair) return nullptr;
    }
  }
  // The pair of a key, new where there was none. Other pairs may move.
  Pair& operator[](uint64_t key) {
    if (size_ * 2 >= slots_.size()) grow();
    return at(key);
  }
  size_t size() const { return size_; }
  const std::vector<Pair>& slots() const { return slots_; }

 private:
  size_t first(uint64_t key) const { return high_bits(mix(key, kHashLow), bits_); }
  Pair& at(uint64_t key) {
    for (size_t slot = first(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].key == key) return slots_[slot];
      if (slots_[slot].key == Pair::kNoPair) {
        slots_[slot].key = key;
        ++size_;
        return slots_[slot];
      }
    }
  }
  void grow() {
    std::vector<Pair> old(slots_.size() * 2);
    old.swap(slots_);
    ++bits_;
    size_ = 0;
    for (const Pair& pair : old) {
      if (pair.key != Pair::kNoPair) at(pair.key) = pair;
    }
  }
  std::vector<Pair> slots_;
  unsigned bits_;
  size_t size_ = 0;
};

// How often each pair occurs: like PairTable, in half the memory, for there are many.
class PairCounts {
 public:
  struct Slot {
    uint64_t key = Pair::kNoPair;
    uint64_t count = 0;
  };
  PairCounts() : slots_(size_t{1} << 12), bits_(12) {}
  void add(uint64_t key, uint64_t count) {
    for (size_t slot = first(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].key == key) {
        slots_[slot].count += count;
        return;
      }
      if (slots_[slot].key != Pair::kNoPair) continue;
      slots_[slot] = {key, count};
      if (++size_ * 8 >= slots_.size() * 5) grow();
      return;
    }
  }
  const std::vector<Slot>& slots() const { return slots_; }
  size_t memory() const { return slots_.size() * sizeof(Slot) * 3 / 2; }  // with what it grew from

 private:
  size_t first(uint64_t key) const { return high_bits(mix(key, kHashLow), bits_); }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    ++bits_;
    for (const Slot& from : old) {
      if (from.key == Pair::kNoPair) continue;
      size_t slot = first(from.key);
      while (slots_[slot].key != Pair::kNoPair) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = from;
    }
  }
  std::vector<Slot> slots_;
  unsigned bits_;
  size_t size_ = 0;
};

// Memory for lists of places, freed with the round.
class Arena {
 public:
  Place* allocate(size_t size) {
    if (left_ < size) {
      const size_t page = std::max(size, kPage);
      pages_.push_back(std::make_unique_for_overwrite<Place[]>(page));
      size_ += page;
      at_ = pages_.back().get();
      left_ = page;
    }
    Place* const out = at_;
    at_ += size;
    left_ -= size;
    return out;
  }
  size_t size() const { return size_; }

 private:
  std::vector<std::unique_ptr<Place[]>> pages_;
  Place* at_ = nullptr;
  size_t left_ = 0, size_ = 0;
};

// Symbol: 16 bits where all ids fit, which halves what is read most.
template <class Symbol>
class TrainerOf final : public Trainer {
 public:
  static constexpr Symbol kEnd = std::numeric_limits<Symbol>::max(), kGone = kEnd - 1;

  explicit TrainerOf(const TrainerOptions& options)
      : vocab_size_(options.vocab_size),
        min_frequency_(std::max<uint64_t>(options.min_frequency, 1)),
        max_token_bytes_(options.max_token_bytes ? options.max_token_bytes : ~uint64_t{0}),
        first_wins_(options.first_wins),
        room_(static_cast<size_t>(options.memory / sizeof(Place))),
        token_bytes_(options.token_bytes),
        symbols_{kEnd} {
    byte_ids.resize(256);
    std::iota(byte_ids.begin(), byte_ids.end(), 0);
  }

  void reserve(uint64_t parts) override {
    if (parts < kMaxParts) symbols_.reserve(static_cast<size_t>(parts) + 1);
  }
  void add(const uint32_t* ids, size_t size, uint64_t count) override {
    add_parts(size, count, [&](size_t i) { return static_cast<Symbol>(ids[i]); });
  }
  void add_bytes(std::string_view piece, uint64_t count) override {
    add_parts(piece.size(), count, [&](size_t i) { return static_cast<Symbol>(byte_ids[static_cast<uint8_t>(piece[i])]); });
  }

  bool run(std::chrono::milliseconds time, size_t limit, std::vector<Merge>& merges) override {
    const auto until = std::chrono::steady_clock::now() + time;
    for (size_t made = 0; made < limit; ++made) {
      if (token_bytes_.size() >= vocab_size_) return false;
      const Pair* best = most_frequent();
      if (best == nullptr) {
        if (floor_ == min_frequency_ || !begin_round()) return false;
        --made;
        continue;
      }
      merges.push_back({best->key >> 32, best->key & 0xFFFFFFFFu, best->count});
      make(*best);
      if (is_crowded() && !begin_round()) return false;
      if (std::chrono::steady_clock::now() >= until) return true;
    }
    return true;
  }

 private:
  struct Entry {  // of the heap
    uint64_t count, tie, key;
    bool operator<(const Entry& other) const { return count != other.count ? count < other.count : tie > other.tie; }
  };
  struct Side {  // of a new token: what a neighbour gains
    uint64_t weight = 0;
    uint32_t size = 0;
    Place* places = nullptr;
  };
  struct Joined {
    Place left_place, place;
    Symbol left, right;
  };

  template <class IdAt>
  void add_parts(size_t size, uint64_t count, const IdAt& id_at) {
    if (size < 2 || count == 0) return;  // there is no pair in it
    if (symbols_.size() + size + 1 >= kMaxParts || count > kMaxCount / size || total_ > kMaxCount - count * size) {
      is_too_large_ = true;
      return;
    }
    total_ += count * size;
    if (group_weights_.empty() || group_weights_.back() != count) {
      group_starts_.push_back(static_cast<Place>(symbols_.size()));
      group_weights_.push_back(count);
    }
    for (size_t i = 0; i < size; ++i) symbols_.push_back(id_at(i));
    symbols_.push_back(kEnd);
  }

  uint64_t weight_at(Place place) const {
    size_t group = group_of_block_[place >> kBlockBits];
    while (group_starts_[group + 1] <= place) ++group;
    return group_weights_[group];
  }

  // One symbol for each token, and only pieces of two or more. Groups are pieces beside each other of the same weight.
  void pack() {
    size_t out = 1, groups_out = 0;
    group_starts_.push_back(static_cast<Place>(symbols_.size()));
    for (size_t group = 0; group + 1 < group_starts_.size(); ++group) {
      const size_t group_out = out, end = group_starts_[group + 1];
      for (size_t at = group_starts_[group]; at < end;) {
        const size_t begin = out;
        while (symbols_[at] != kEnd) {
          const Symbol id = symbols_[at];
          symbols_[out++] = id;
          at += span_[id];
        }
        ++at;
        if (out - begin > 1) symbols_[out++] = kEnd;
        else out = begin;
      }
      if (out == group_out) continue;
      if (groups_out && group_weights_[groups_out - 1] == group_weights_[group]) continue;
      group_weights_[groups_out] = group_weights_[group];
      group_starts_[groups_out++] = static_cast<Place>(group_out);
    }
    symbols_.resize(out);
    if (symbols_.capacity() > 2 * out) symbols_.shrink_to_fit();
    group_weights_.resize(groups_out);
    group_starts_.resize(groups_out);
    std::fill(span_.begin(), span_.end(), 1);
    index_groups();
  }

  void index_groups() {
    group_of_block_.resize((symbols_.size() >> kBlockBits) + 1);
    size_t group = 0;
    group_starts_.push_back(std::numeric_limits<Place>::max());
    for (size_t block = 0; block < group_of_block_.size(); ++block) {
      while (group + 2 < group_starts_.size() && group_starts_[group + 1] <= block << kBlockBits) ++group;
      group_of_block_[block] = static_cast<uint32_t>(group);
    }
  }

  template <class Visit>  // visit(place, key, weight) of each pair of neighbours, in a packed row
  void each_pair(const Visit& visit) const {
    for (size_t group = 0; group < group_weights_.size(); ++group) {
      const uint64_t weight = group_weights_[group];
      const size_t end = std::min<size_t>(group_starts_[group + 1], symbols_.size());
      for (size_t at = group_starts_[group]; at + 1 < end; ++at) {
        if (symbols_[at] != kEnd && symbols_[at + 1] != kEnd)
          visit(static_cast<Place>(at), pair_key(symbols_[at], symbols_[at + 1]), weight);
      }
    }
  }

  bool may_merge(uint64_t key) const {
    return token_bytes_[key >> 32] + uint64_t{token_bytes_[key & 0xFFFFFFFFu]} <= max_token_bytes_;
  }

  // Whether lists have taken so much memory that a new round, which packs and lists afresh, is cheaper.
  bool is_crowded() const { return arena_.size() > lists_ + (room_ ? room_ : std::max(kLarge, symbols_.size())); }

  // Packs the row, and finds the pairs that are frequent now; false where no pair is frequent enough.
  bool begin_round() {
    if (is_done_ || is_too_large_) return false;
    heap_.clear();
    pairs_ = PairTable();
    arena_ = Arena();
    if (floor_ == 0) {
      // each merge takes a symbol away
      const size_t most = std::min<size_t>(vocab_size_, token_bytes_.size() + symbols_.size());
      span_.assign(most, 1);
      left_.resize(most);
      right_.resize(most);
    } else {
      group_starts_.pop_back();
    }
    pack();
    if (symbols_.size() >= kLarge) return_memory();
    {
      const std::vector<PairCounts::Slot> frequent = count_pairs();
      uint64_t most = 0;
      for (const auto& pair : frequent) most = std::max(most, pair.count);
      if (most < min_frequency_) {
        is_done_ = true;
        return false;
      }
      floor_ = std::max(floor_for(most), count_of_rank(frequent, vocab_size_ - token_bytes_.size()));
      for (const auto& pair : frequent) {
        if (pair.count >= floor_) pairs_[pair.key].count = pair.count;
      }
    }
    // how long each list is, then the lists
    each_pair([&](Place, uint64_t key, uint64_t) {
      if (Pair* pair = pairs_.find(key)) ++pair->size;
    });
    for (const Pair& pair : pairs_.slots()) {
      if (pair.key == Pair::kNoPair) continue;
      Pair& found = *pairs_.find(pair.key);
      found.places = arena_.allocate(found.size);
      found.size = 0;
    }
    each_pair([&](Place place, uint64_t key, uint64_t) {
      if (Pair* pair = pairs_.find(key)) pair->places[pair->size++] = place;
    });
    for (const Pair& pair : pairs_.slots()) {
      if (pair.key != Pair::kNoPair) heap_.push_back({pair.count, tie_of(*pairs_.find(pair.key)), pair.key});
    }
    std::make_heap(heap_.begin(), heap_.end());
    lists_ = arena_.size();
    return true;
  }

  uint64_t floor_for(uint64_t most) const {
    return std::max(min_frequency_, most / (symbols_.size() < kLarge ? kFloorDivisor : kLargeDivisor));
  }

  // The pairs that may merge, with their counts; of the rare ones below floor_for the largest, some or none. Where their
  // table would not fit the memory, they are counted in parts, by hash: a pass over the row for each.
  std::vector<PairCounts::Slot> count_pairs() {
    for (;; ++part_bits_) {
      std::vector<PairCounts::Slot> frequent;
      uint64_t most = 0;
      bool fits = true;
      for (uint64_t part = 0; fits && part < uint64_t{1} << part_bits_; ++part) {
        PairCounts counts;
        const uint64_t mask = (uint64_t{1} << part_bits_) - 1;
        each_pair([&](Place, uint64_t key, uint64_t weight) {
          if (fits && (mask == 0 || (mix(key, kHashHigh) & mask) == part)) counts.add(key, weight);
          fits = fits && (room_ == 0 || part_bits_ >= kMostPartBits || counts.memory() <= room_ * sizeof(Place));
        });
        for (const auto& slot : counts.slots()) {
          if (slot.key != Pair::kNoPair && may_merge(slot.key)) most = std::max(most, slot.count);
        }
        for (const auto& slot : counts.slots()) {
          if (slot.key != Pair::kNoPair && slot.count >= floor_for(most) && may_merge(slot.key)) frequent.push_back(slot);
        }
      }
      if (fits) return frequent;
      return_memory();
    }
  }

  // The count that so many pairs reach; 0 where there are not so many. No more of them can be merged, and of the rarer
  // ones few will be: new pairs come first.
  static uint64_t count_of_rank(const std::vector<PairCounts::Slot>& pairs, size_t rank) {
    if (rank > pairs.size()) return 0;
    std::vector<uint64_t> counts(pairs.size());
    std::transform(pairs.begin(), pairs.end(), counts.begin(), [](const auto& pair) { return pair.count; });
    std::nth_element(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(rank - 1), counts.end(), std::greater<>());
    return counts[rank - 1];
  }

  bool stands_at(const Pair& pair, Place place) const {
    const auto left = static_cast<Symbol>(pair.key >> 32), right = static_cast<Symbol>(pair.key);
    return symbols_[place] == left && symbols_[place + span_[left]] == right;
  }

  // What decides between equally frequent pairs: the smaller wins.
  uint64_t tie_of(Pair& pair) const {
    if (!first_wins_) return pair.key;
    while (pair.size && !stands_at(pair, *pair.places)) {  // it was merged into a neighbour: for good
      ++pair.places;
      --pair.size;
    }
    return pair.size ? *pair.places : ~uint64_t{0};
  }

  // The pair to merge; null where none reaches the floor. An entry is put right when it comes to the top.
  Pair* most_frequent() {
    while (!heap_.empty()) {
      const Entry top = heap_.front();
      Pair* const pair = pairs_.find(top.key);
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      if (pair->count == top.count) return pair;
      if (pair->count >= floor_) push(*pair);
    }
    return nullptr;
  }
  void push(Pair& pair) {
    heap_.push_back({pair.count, tie_of(pair), pair.key});
    std::push_heap(heap_.begin(), heap_.end());
  }

  // Makes the next token of a pair, everywhere from left to right.
  void make(const Pair& pair) {
    const auto a = static_cast<Symbol>(pair.key >> 32), b = static_cast<Symbol>(pair.key);
    const auto made = static_cast<Symbol>(token_bytes_.size());
    token_bytes_.push_back(token_bytes_[a] + token_bytes_[b]);
    const Place span_a = span_[a], span_b = span_[b], span = span_a + span_b;
    span_[made] = span;
    joined_.clear();
    const uint64_t key = pair.key;
    for (const Place *at = pair.places, *end = at + pair.size; at != end; ++at) {
      const Place place = *at;
      if (symbols_[place] != a || symbols_[place + span_a] != b) continue;
      if (span_b > 1) symbols_[place + span_a] = kGone;
      symbols_[place] = symbols_[place + span - 1] = made;
      const uint64_t weight = weight_at(place);
      Joined joined{0, place, symbols_[place - 1], symbols_[place + span]};
      if (joined.left == made) joined.left = kEnd;  // that pair is counted from its left token
      if (joined.left != kEnd) {
        joined.left_place = place - span_[joined.left];
        gain(left_, left_touched_, joined.left, weight);
      }
      if (joined.right != kEnd) {
        // the next token is about to be merged as well
        if (joined.right == a && symbols_[place + span + span_a] == b) joined.right = made;
        gain(right_, right_touched_, joined.right, weight);
      }
      joined_.push_back(joined);
    }
    pairs_.find(key)->count = 0;
    for (const Symbol left : left_touched_) {
      lose(pair_key(left, a), left_[left].weight);
      take(left_[left], pair_key(left, made));
    }
    for (const Symbol right : right_touched_) {
      lose(pair_key(b, right == made ? a : right), right_[right].weight);
      take(right_[right], pair_key(made, right));
    }
    for (const Joined& joined : joined_) {
      if (joined.left != kEnd && left_[joined.left].places) *left_[joined.left].places++ = joined.left_place;
      if (joined.right != kEnd && right_[joined.right].places) *right_[joined.right].places++ = joined.place;
    }
    for (const Symbol left : left_touched_) finish(left_[left], pair_key(left, made));
    for (const Symbol right : right_touched_) finish(right_[right], pair_key(made, right));
    left_touched_.clear();
    right_touched_.clear();
  }

  static void gain(std::vector<Side>& sides, std::vector<Symbol>& touched, Symbol id, uint64_t weight) {
    if (sides[id].size++ == 0) touched.push_back(id);
    sides[id].weight += weight;
  }
  void lose(uint64_t key, uint64_t weight) {
    if (Pair* pair = pairs_.find(key)) pair->count -= std::min(pair->count, weight);
  }
  void take(Side& side, uint64_t key) {
    if (side.weight >= floor_ && may_merge(key)) side.places = arena_.allocate(side.size);
  }
  void finish(Side& side, uint64_t key) {
    if (side.places) {
      Pair& pair = pairs_[key];
      pair.count = side.weight;
      pair.size = side.size;
      pair.places = side.places - side.size;
      push(pair);
    }
    side = {};
  }

  const uint32_t vocab_size_;
  const uint64_t min_frequency_, max_token_bytes_;
  const bool first_wins_;
  const size_t room_;  // for places in lists; 0: any
  std::vector<uint32_t> token_bytes_;
  std::vector<Symbol> symbols_;
  std::vector<Place> span_;  // of each id, in symbols, since the round began
  std::vector<Place> group_starts_;  // one more than there are groups, within a round
  std::vector<uint64_t> group_weights_;
  std::vector<uint32_t> group_of_block_;
  uint64_t total_ = 0, floor_ = 0;
  bool is_done_ = false;
  unsigned part_bits_ = 0;
  size_t lists_ = 0;  // places at the beginning of the round
  PairTable pairs_;
  Arena arena_;
  std::vector<Entry> heap_;
  std::vector<Side> left_, right_;
  std::vector<Symbol> left_touched_, right_touched_;
  std::vector<Joined> joined_;
};

}  // namespace

std::unique_ptr<Trainer> Trainer::make(const TrainerOptions& options) {
  if (options.vocab_size < TrainerOf<uint16_t>::kGone) return std::make_unique<TrainerOf<uint16_t>>(options);
  return std::make_unique<TrainerOf<uint32_t>>(options);
}

void Trainer::add_table(const PieceTable& table, bool in_order) {
  reserve(table.bytes() + table.size());
  std::vector<uint32_t> order(table.size());
  std::iota(order.begin(), order.end(), 0);
  if (!in_order) {
    std::vector<uint64_t> counts(table.size());
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = table[i].count;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  }
  for (const uint32_t number : order) add_bytes(table[number].bytes, table[number].count);
}

}  // namespace tokcli
