// Learning merges: see trainer.h.
//
// Work goes in rounds. A round counts all pairs of neighbours and keeps those that occur `floor` times or more, each
// with a list of the places where it is. The count of a pair never rises once both its tokens exist (all its places
// come with the merge that makes the younger of them), so a pair below the floor stays below it. Such pairs are neither
// kept nor counted until no pair above the floor is left; then a round with a lower floor begins. Before it the row of
// symbols is packed: one symbol for each token, and without the pieces that have become one token. So the tables stay
// small (most pairs are rare and never merged), and each round has less to read. A merge costs what it changes, however
// long a piece is.
#include "training/trainer.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/memory.h"
#include "training/pair_tables.h"
#include "training/symbol_row.h"

namespace tokcli {
namespace {

constexpr uint64_t kFloorDivisor = 1024;  // the floor of a round is the largest count divided by this
constexpr uint64_t kLargeDivisor = 16;    // as above, for a large row: the lists take twice its memory
constexpr size_t kLarge = size_t{1} << 24;  // symbols
constexpr unsigned kMostPartBits = 4;     // pairs are counted in at most 2^4 passes

template <class Symbol>
class TrainerOf final : public Trainer {
 public:
  static constexpr Symbol kEnd = SymbolRow<Symbol>::kEnd, kGone = SymbolRow<Symbol>::kGone;

  explicit TrainerOf(const TrainerOptions& options)
      : vocab_size_(options.vocab_size),
        min_frequency_(std::max<uint64_t>(options.min_frequency, 1)),
        max_token_bytes_(options.max_token_bytes ? options.max_token_bytes : ~uint64_t{0}),
        first_wins_(options.first_wins),
        room_(static_cast<size_t>(options.memory / sizeof(Place))),
        token_bytes_(options.token_bytes) {
    byte_ids.resize(256);
    std::iota(byte_ids.begin(), byte_ids.end(), 0);
  }

  void reserve(uint64_t parts) override { row_.reserve(parts); }
  void add(const uint32_t* ids, size_t size, uint64_t count) override {
    add_parts(size, count, [&](size_t i) { return static_cast<Symbol>(ids[i]); });
  }
  void add_bytes(std::string_view piece, uint64_t count) override {
    const Bytes bytes = bytes_of(piece);
    add_parts(bytes.size(), count, [&](size_t i) { return static_cast<Symbol>(byte_ids[bytes[i]]); });
  }

  bool run(std::chrono::milliseconds time, size_t limit, std::vector<LearnedMerge>& merges) override {
    const auto until = std::chrono::steady_clock::now() + time;
    for (size_t made = 0; made < limit; ++made) {
      if (token_bytes_.size() >= vocab_size_) return false;
      const CountedPair* best = most_frequent();
      if (best == nullptr) {
        if (floor_ == min_frequency_ || !begin_round()) return false;
        --made;
        continue;
      }
      merges.push_back({best->key >> 32, best->key & 0xFFFFFFFFu, best->count});
      make(*best);
      const bool is_complete = token_bytes_.size() >= vocab_size_;  // then no round follows
      if (!is_complete && is_crowded() && !begin_round()) return false;
      if (std::chrono::steady_clock::now() >= until) return true;
    }
    return true;
  }

  PairsLeft end() override {
    if (floor_ == 0 && !is_done_) return {};  // nothing has been counted yet
    is_done_ = true;
    heap_.clear();
    pairs_ = PairTable();
    arena_ = PlaceArena();
    row_.pack();
    for (;; ++part_bits_) {
      PairsLeft left;
      bool fits = true;
      for (uint64_t part = 0; fits && part < uint64_t{1} << part_bits_; ++part) {
        PairCounts counts;
        fits = count_part(part, counts);
        for (const auto& slot : counts.slots()) {
          if (slot.key == CountedPair::kNoPair) continue;
          uint64_t& most = may_merge(slot.key) ? left.most : left.most_too_long;
          most = std::max(most, slot.count);
        }
      }
      if (fits) return left;
    }
  }

 private:
  // A pair in the heap. Its count may have fallen since: it is looked at again when the entry comes to the top.
  struct Entry {
    uint64_t count, tie, key;
    bool operator<(const Entry& other) const { return count != other.count ? count < other.count : tie > other.tie; }
  };
  // What a neighbour of a new token becomes with it: the weight and the list of a new pair.
  struct Side {
    uint64_t weight = 0;
    uint32_t size = 0;
    Place* places = nullptr;
  };
  // A place where the new token was made, and its neighbours there.
  struct Joined {
    Place left_place, place;
    Symbol left, right;
  };

  template <class IdAt>
  void add_parts(size_t size, uint64_t count, const IdAt& id_at) {
    if (size < 2 || count == 0) return;  // there is no pair in it
    if (count > kMaxCount / size || total_ > kMaxCount - count * size || !row_.add(size, count, id_at)) {
      is_too_large_ = true;
      return;
    }
    total_ += count * size;
  }

  bool may_merge(uint64_t key) const {
    return token_bytes_[key >> 32] + uint64_t{token_bytes_[key & 0xFFFFFFFFu]} <= max_token_bytes_;
  }

  // Returns whether the lists have taken so much memory that a new round, which makes new ones, is cheaper.
  bool is_crowded() const { return arena_.size() > lists_ + (room_ ? room_ : std::max(kLarge, row_.size())); }

  // Packs the row and lists the pairs that are frequent now. Returns false where no pair is frequent enough.
  bool begin_round() {
    if (is_done_ || is_too_large_) return false;
    heap_.clear();
    pairs_ = PairTable();
    arena_ = PlaceArena();
    if (floor_ == 0) {
      // each merge takes at least one symbol away, so there are no more new tokens than symbols
      const size_t most = std::min<size_t>(vocab_size_, token_bytes_.size() + row_.size());
      row_.begin(most);
      left_.resize(most);
      right_.resize(most);
    }
    row_.pack();
    if (row_.size() >= kLarge) return_memory();
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
    // first the size of each list, then the lists
    row_.each_pair([&](Place, uint64_t key, uint64_t) {
      if (CountedPair* pair = pairs_.find(key)) ++pair->size;
    });
    for (const CountedPair& pair : pairs_.slots()) {
      if (pair.key == CountedPair::kNoPair) continue;
      CountedPair& found = *pairs_.find(pair.key);
      found.places = arena_.allocate(found.size);
      found.size = 0;
    }
    row_.each_pair([&](Place place, uint64_t key, uint64_t) {
      if (CountedPair* pair = pairs_.find(key)) pair->places[pair->size++] = place;
    });
    for (const CountedPair& pair : pairs_.slots()) {
      if (pair.key != CountedPair::kNoPair) heap_.push_back({pair.count, tie_of(*pairs_.find(pair.key)), pair.key});
    }
    std::make_heap(heap_.begin(), heap_.end());
    lists_ = arena_.size();
    return true;
  }

  uint64_t floor_for(uint64_t most) const {
    return std::max(min_frequency_, most / (row_.size() < kLarge ? kFloorDivisor : kLargeDivisor));
  }

  // Returns the pairs that may merge, with their counts. Of pairs below the floor for the largest count, some or none
  // are among them. Where their table would not fit the memory, pairs are counted in several passes over the row, each
  // for the pairs whose hashes end with the same bits.
  std::vector<PairCounts::Slot> count_pairs() {
    for (;; ++part_bits_) {
      std::vector<PairCounts::Slot> frequent;
      uint64_t most = 0;
      bool fits = true;
      for (uint64_t part = 0; fits && part < uint64_t{1} << part_bits_; ++part) {
        PairCounts counts;
        fits = count_part(part, counts);
        for (const auto& slot : counts.slots()) {
          if (slot.key != CountedPair::kNoPair && may_merge(slot.key)) most = std::max(most, slot.count);
        }
        for (const auto& slot : counts.slots()) {
          const bool is_frequent = slot.key != CountedPair::kNoPair && slot.count >= floor_for(most);
          if (is_frequent && may_merge(slot.key)) frequent.push_back(slot);
        }
      }
      if (fits) return frequent;
      return_memory();
    }
  }

  // Counts the pairs whose hashes end with the bits of `part`. Returns false where their table would not fit the memory.
  bool count_part(uint64_t part, PairCounts& counts) const {
    bool fits = true;
    const uint64_t mask = (uint64_t{1} << part_bits_) - 1;
    row_.each_pair([&](Place, uint64_t key, uint64_t weight) {
      if (fits && (mask == 0 || (mix(key, kHashHigh) & mask) == part)) counts.add(key, weight);
      fits = fits && (room_ == 0 || part_bits_ >= kMostPartBits || counts.memory() <= room_ * sizeof(Place));
    });
    return fits;
  }

  // Returns the count that `rank` pairs reach; 0 where there are fewer pairs. No more than `rank` of them can be
  // merged, and few of the rarer ones will be, as new pairs come first.
  static uint64_t count_of_rank(const std::vector<PairCounts::Slot>& pairs, size_t rank) {
    if (rank > pairs.size()) return 0;
    std::vector<uint64_t> counts(pairs.size());
    std::transform(pairs.begin(), pairs.end(), counts.begin(), [](const auto& pair) { return pair.count; });
    std::nth_element(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(rank - 1), counts.end(), std::greater<>());
    return counts[rank - 1];
  }

  // Returns what decides between equally frequent pairs: the smaller one wins.
  uint64_t tie_of(CountedPair& pair) const {
    if (!first_wins_) return pair.key;
    while (pair.size && !row_.has_pair(pair.key, *pair.places)) {  // gone for good, by another merge
      ++pair.places;
      --pair.size;
    }
    return pair.size ? *pair.places : ~uint64_t{0};
  }

  // Returns the pair to merge; null where none reaches the floor.
  CountedPair* most_frequent() {
    while (!heap_.empty()) {
      const Entry top = heap_.front();
      CountedPair* const pair = pairs_.find(top.key);
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      if (pair->count == top.count) return pair;
      if (pair->count >= floor_) push(*pair);
    }
    return nullptr;
  }
  void push(CountedPair& pair) {
    heap_.push_back({pair.count, tie_of(pair), pair.key});
    std::push_heap(heap_.begin(), heap_.end());
  }

  // Makes the next token from a pair, everywhere, from left to right.
  void make(const CountedPair& pair) {
    const auto a = static_cast<Symbol>(pair.key >> 32), b = static_cast<Symbol>(pair.key);
    const auto made = static_cast<Symbol>(token_bytes_.size());
    token_bytes_.push_back(token_bytes_[a] + token_bytes_[b]);
    const Place span_a = row_.span(a), span_b = row_.span(b), span = span_a + span_b;
    row_.span(made) = span;
    joined_.clear();
    const uint64_t key = pair.key;
    for (const Place *at = pair.places, *end = at + pair.size; at != end; ++at) {
      pace_.step();
      const Place place = *at;
      if (row_[place] != a || row_[place + span_a] != b) continue;
      if (span_b > 1) row_[place + span_a] = kGone;
      row_[place] = row_[place + span - 1] = made;
      const uint64_t weight = row_.weight_at(place);
      Joined joined{0, place, row_[place - 1], row_[place + span]};
      if (joined.left == made) joined.left = kEnd;  // that pair is counted from its left token
      if (joined.left != kEnd) {
        joined.left_place = place - row_.span(joined.left);
        gain(left_, left_touched_, joined.left, weight);
      }
      if (joined.right != kEnd) {
        // the neighbour is about to become the new token as well
        if (joined.right == a && row_[place + span + span_a] == b) joined.right = made;
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
    if (CountedPair* pair = pairs_.find(key)) pair->count -= std::min(pair->count, weight);
  }
  void take(Side& side, uint64_t key) {
    if (side.weight >= floor_ && may_merge(key)) side.places = arena_.allocate(side.size);
  }
  void finish(Side& side, uint64_t key) {
    if (side.places) {
      CountedPair& pair = pairs_[key];
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
  const size_t room_;  // the most places that lists may have; 0 for any number
  std::vector<uint32_t> token_bytes_;
  SymbolRow<Symbol> row_;
  uint64_t total_ = 0, floor_ = 0;
  bool is_done_ = false;
  unsigned part_bits_ = 0;
  size_t lists_ = 0;  // the places in lists when the round began
  PairTable pairs_;
  PlaceArena arena_;
  std::vector<Entry> heap_;
  std::vector<Side> left_, right_;
  std::vector<Symbol> left_touched_, right_touched_;
  std::vector<Joined> joined_;
  Pace pace_;
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
  Pace pace;
  for (const uint32_t number : order) {
    pace.step(table[number].bytes.size());
    add_bytes(table[number].bytes, table[number].count);
  }
}

}  // namespace tokcli
