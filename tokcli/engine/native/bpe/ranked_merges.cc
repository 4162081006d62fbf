// Which merges can happen, and whether ranks say the same: see ranked_merges.h.
#include "bpe/ranked_merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "bpe/image_builder.h"
#include "bpe/merging/merge.h"

namespace tokcli {
namespace {

constexpr uint64_t kMostWork = uint64_t{1} << 31;  // a second or two; the largest vocabularies in use take some 2^24

// A hash table from two parts to the number of their merge.
class Orders {
 public:
  explicit Orders(std::span<const Vocabulary::Merge> merges)
      : seed_(process_seed().low), merges_(merges), mask_(std::bit_ceil(merges.size() * 2 + 2) - 1), slots_(mask_ + 1, kNone) {
    for (uint32_t order = 0; order < merges.size(); ++order) {
      const auto& [left, right, made] = merges[order];
      size_t at = place(left, right);
      while (slots_[at] != kNone && !is_of(slots_[at], left, right)) at = (at + 1) & mask_;
      if (slots_[at] == kNone) slots_[at] = order;  // of equal pairs the first counts
    }
  }
  uint32_t find(uint32_t left, uint32_t right) const {
    for (size_t at = place(left, right);; at = (at + 1) & mask_) {
      const uint32_t order = slots_[at];
      if (order == kNone || is_of(order, left, right)) return order;
    }
  }

 private:
  bool is_of(uint32_t order, uint32_t left, uint32_t right) const {
    return merges_[order][0] == left && merges_[order][1] == right;
  }
  size_t place(uint32_t left, uint32_t right) const {
    return static_cast<size_t>(mix((uint64_t{left} << 32 | right) ^ seed_, kHashLow)) & mask_;
  }
  uint64_t seed_;
  std::span<const Vocabulary::Merge> merges_;
  size_t mask_;
  std::vector<uint32_t> slots_;
};

}  // namespace

// Merges the bytes of each token by the list; the last merge is its live one, if it makes the token.
std::vector<uint32_t> live_merges(std::span<const Token> tokens, std::span<const Vocabulary::Merge> merges) {
  const Orders orders(merges);
  std::array<uint32_t, 256> byte_ids;
  byte_ids.fill(kNone);
  for (const Token& token : tokens) {
    if (token.size == 1) byte_ids[token.bytes[0]] = token.id;
  }
  std::vector<uint32_t> live, parts, found;
  uint64_t work = 0;
  Pace pace;
  for (const Token& token : tokens) {
    if (token.size < 2) continue;
    pace.step(token.size);
    work += uint64_t{token.size} * token.size;
    if (work > kMostWork) throw std::length_error("tokens are too long: merging them would take minutes");
    parts.resize(token.size);
    std::transform(token.bytes, token.bytes + token.size, parts.begin(), [&](uint8_t byte) { return byte_ids[byte]; });
    if (std::find(parts.begin(), parts.end(), kNone) != parts.end()) continue;
    found.resize(parts.size() - 1);  // the number of the merge of each part with the next
    for (size_t i = 0; i < found.size(); ++i) found[i] = orders.find(parts[i], parts[i + 1]);
    uint32_t last = kNone;
    while (!found.empty()) {
      pace.step(found.size() / 16);
      const auto lowest = std::min_element(found.begin(), found.end());
      if (*lowest == kNone) break;
      const auto at = lowest - found.begin();
      last = *lowest;
      parts[static_cast<size_t>(at)] = merges[last][2];
      parts.erase(parts.begin() + at + 1);
      found.erase(lowest);
      for (const auto i : {at - 1, at}) {
        if (i >= 0 && i < static_cast<std::ptrdiff_t>(found.size()))
          found[static_cast<size_t>(i)] = orders.find(parts[static_cast<size_t>(i)], parts[static_cast<size_t>(i) + 1]);
      }
    }
    if (parts.size() == 1 && parts[0] == token.id) live.push_back(last);
  }
  std::sort(live.begin(), live.end());
  return live;
}

std::optional<RankedMerges> rank_merges(std::span<const Token> tokens, std::span<const Vocabulary::Merge> merges,
                                        bool ignore_merges, bool drops_missing) {
  RankedMerges found;
  uint32_t most = 0;
  for (const Token& token : tokens) most = std::max(most, token.id);
  if (most >= kMaxId) throw std::invalid_argument("an id is too large for an image");
  std::vector<const Token*> by_id(most + size_t{1}), ranked;
  for (const Token& token : tokens) {
    by_id[token.id] = &token;
    if (token.size != 1) continue;
    found.has_byte[token.bytes[0]] = true;
    ranked.push_back(&token);
  }
  std::vector<bool> has_rank(by_id.size());
  for (const Token* token : ranked) has_rank[token->id] = true;
  uint32_t last = 0;
  for (const uint32_t number : live_merges(tokens, merges)) {
    const auto& [left, right, made] = merges[number];
    if (std::max({left, right, made}) > most || !by_id[left] || !by_id[right] || !by_id[made]) return std::nullopt;
    const Token &a = *by_id[left], &b = *by_id[right], &both = *by_id[made];
    if (has_rank[made] || made < last || both.size != a.size + b.size ||
        std::memcmp(both.bytes, a.bytes, a.size) != 0 || std::memcmp(both.bytes + a.size, b.bytes, b.size) != 0)
      return std::nullopt;
    last = made;
    has_rank[made] = true;
    ranked.push_back(&both);
    found.merges.push_back(merges[number]);
  }
  std::vector<Token> all;
  all.reserve(tokens.size());
  for (const Token* token : ranked) all.push_back(*token);
  const size_t made_count = all.size();
  if (ignore_merges) {
    for (const Token& token : tokens) {
      if (token.size > 0 && !has_rank[token.id]) all.push_back(token);
    }
  }
  found.image = build_image({.tokens = all, .source = std::array<uint8_t, 32>{}, .drops_missing = drops_missing, .has_merges = true, .merges = found.merges});
  Vocabulary vocabulary;
  if (!vocabulary.open(found.image)) throw std::invalid_argument("no tokens");
  MergeScratch scratch;
  std::array<uint32_t, 2> parts;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool arrives = i >= made_count && last_merge(vocabulary, all[i].bytes, all[i].size, scratch, parts);
    (arrives ? found.whole_only : found.ids).push_back(all[i].id);
  }
  return found;
}

}  // namespace tokcli
