// Finding borders: see borders.h.
#include "bpe/borders/borders.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string_view>

#include "base/processor.h"
#include "base/watch.h"

#if defined(TOKCLI_SSE2)
#include <emmintrin.h>
#endif

namespace tokcli {

Borders::Borders(const Vocabulary& v) : pairs_(size_t{1} << 16, {kNever, kNever, kNever, 0}) {
  const auto bits = static_cast<unsigned>(std::bit_width(v.id_count()));
  const unsigned filter_bits = std::clamp(bits, 11u, 18u) - 3;
  shift_ = bits < 16 ? 0 : bits - 15;
  filter_shift_ = 64 - filter_bits;
  filter_.resize(size_t{1} << filter_bits);
  std::vector<bool> is_made(v.id_count());
  std::array<uint8_t, 256> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  const auto text_of = [&](uint32_t part) {
    std::string_view text;
    if (part < v.id_count()) v.token(part, &text);
    else if (part - v.id_count() < bytes.size()) text = {reinterpret_cast<const char*>(&bytes[part - v.id_count()]), 1};
    return text;
  };
  Pace pace;
  v.for_each_merge([&](uint32_t left, uint32_t right, uint32_t made) {
    pace.step(8);
    if (made < v.id_count()) is_made[made] = true;
    const std::string_view a = text_of(left), b = text_of(right);
    if (!a.empty() && !b.empty()) add(a, b, made);
  });
  for (uint32_t id = 0; id < v.id_count(); ++id) {
    const std::string_view text = text_of(id);
    if (text.size() == 1 ? v.byte_part(static_cast<uint8_t>(text[0])) != id : text.size() > 1 && !is_made[id])
      are_of_pieces_ = false;
  }
  find_characters(v);
}

// A character is sure where its first two bytes are merged first and its last one then, each before any merge that would take
// a byte away, and where no token is made before its parts are: so that merges come in the order of their ranks, and none
// that the character has a part in comes before it is there.
void Borders::find_characters(const Vocabulary& v) {
  characters_.assign(size_t{1} << 16, {~uint64_t{0}, kNone});
  std::map<uint64_t, uint32_t> lefts;  // of two bytes and one before: the lowest merge of the two with what ends so
  std::vector<std::array<uint32_t, 2>> found;    // the first two bytes of a character, and all three
  bool is_in_order = true;
  v.for_each_merge([&](uint32_t left, uint32_t right, uint32_t made) {
    std::string_view before, after;
    is_in_order = is_in_order && made > left && made > right;
    if (!v.token(left, &before) || !v.token(right, &after) || before.empty() || after.empty()) return;
    const auto first = static_cast<uint8_t>(after[0]), last = static_cast<uint8_t>(before.back());
    if (after.size() == 2 && first >= 0xE0 && last >= 0x80) {
      uint32_t& rank = lefts.try_emplace(uint64_t{right} << 8 | last, kNone).first->second;
      rank = std::min(rank, made);
    }
    if (before.size() == 2 && after.size() == 1 && (before[0] & 0xF0) == 0xE0) found.push_back({left, made});
  });
  if (!is_in_order) return;
  for (const auto& [two, id] : found) {
    std::string_view text;
    if (!v.token(id, &text) || text.size() != 3) continue;
    const auto a = static_cast<uint8_t>(text[0]), b = static_cast<uint8_t>(text[1]), c = static_cast<uint8_t>(text[2]);
    bool is_sure = v.merged_bytes(a, b) == two && two >> shift_ < pair(b, c).rights;
    for (unsigned next = 0xC0; next < 0x100; ++next)
      is_sure = is_sure && id >> shift_ < pair(c, static_cast<uint8_t>(next)).rights;
    if (!is_sure) continue;
    Character& character = characters_[code_of(a, b, c)] = {0, id};
    for (uint32_t last = 0x80; last < 0xC0; ++last) {
      const auto threat = lefts.find(uint64_t{two} << 8 | last);
      const bool is_safe = two >> shift_ < pair(static_cast<uint8_t>(last), a).lefts && (threat == lefts.end() || id < threat->second);
      character.unsure |= uint64_t{!is_safe} << (last & 63);
    }
  }
}

void Borders::add(std::string_view left, std::string_view right, uint32_t rank) {
  const auto byte = [](char c) { return static_cast<uint8_t>(c); };
  const auto low = static_cast<uint16_t>(std::min<uint32_t>(rank >> shift_, kNever - 1));
  const uint8_t last = byte(left.back()), first = byte(right[0]);
  const uint32_t both = last | uint32_t{first} << 8;
  Pair& pair = pairs_[number(last, first)];
  if (left.size() == 1 && right.size() == 1) pair.rank = std::min(pair.rank, low);
  if (left.size() == 1) pair.rights = std::min(pair.rights, low);
  if (right.size() == 1) pair.lefts = std::min(pair.lefts, low);
  const uint32_t before = left.size() > 1 ? byte(left[left.size() - 2]) : 0, after = right.size() > 1 ? byte(right[1]) : 0;
  const Place ends(before | both << 8), begins(both | after << 16);
  if (left.size() > 1 && right.size() > 1) word_of(begins) |= uint64_t{1} << begins.four_bit(before);
  else if (left.size() > 1) word_of(ends) |= uint64_t{1} << (ends.three_bit() + kTwoAndOne);
  else if (right.size() > 1) word_of(begins) |= uint64_t{1} << (begins.three_bit() + kOneAndTwo);
}

namespace {

// Returns a word with bit `number` of each of 64 bytes.
[[gnu::always_inline]] inline uint64_t bits_of(const std::array<uint8_t, 64>& bytes, unsigned number) {
  uint64_t found = 0;
#if defined(TOKCLI_SSE2)
  for (size_t i = 0; i < 64; i += 16) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&bytes[i]));
    const __m128i high = _mm_sll_epi16(some, _mm_cvtsi32_si128(static_cast<int>(7 - number)));
    found |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(high))} << i;
  }
#else
  for (size_t i = 0; i < 64; ++i) found |= uint64_t{bytes[i] >> number & 1u} << i;
#endif
  return found;
}

}  // namespace

// All that is known of a byte and those around it is looked up first, the same of each, and put together then.
[[gnu::always_inline]] inline uint64_t Borders::find_here(const uint8_t* p, const Pair* pairs) const {
  const uint64_t* const filter = filter_.data();
  const unsigned filter_shift = filter_shift_;
  const uint8_t* const first = p - 2;
  alignas(64) std::array<uint8_t, 64> found;
  uint32_t four = uint32_t{first[-2]} << 8 | uint32_t{first[-1]} << 16 | uint32_t{first[0]} << 24;
  const Pair* before = &pairs[number(first[-1], first[0])];
  const Pair* here = &pairs[number(first[0], first[1])];
  for (size_t i = 0; i < 64; ++i) {
    const uint8_t* const at = first + i;
    const Pair* const next = &pairs[number(at[1], at[2])];
    four = four >> 8 | uint32_t{at[1]} << 24;
    const Place place(four >> 8);
    const uint64_t word = filter[place.hash >> filter_shift];
    const auto threes = static_cast<unsigned>(word >> place.three_bit()) & 3;
    const auto fours = static_cast<unsigned>(word >> place.four_bit(four)) & 1;
    const auto sure = static_cast<unsigned>((here->rank < next->rights) & (here->rank < before->lefts));
    const auto merges = static_cast<unsigned>(here->rank != kNever);
    found[i] = static_cast<uint8_t>(threes | fours << kTwoAndTwo | sure << kSure | merges << kMerges);
    before = here;
    here = next;
  }
  const uint64_t sure = bits_of(found, kSure), left_is_sure = sure << 2, right_is_sure = sure;
  const uint64_t crossed = sure << 1 | (bits_of(found, kMerges) << 1 & ~left_is_sure & ~right_is_sure) |
                           (bits_of(found, kOneAndTwo) & ~left_is_sure) |
                           (bits_of(found, kTwoAndOne) << 1 & ~right_is_sure) | bits_of(found, kTwoAndTwo);
  return ~crossed >> 2;
}

uint64_t Borders::find_portable(const uint8_t* p) const { return find_here(p, pairs_.data()); }
#if defined(TOKCLI_AVX)
[[gnu::target("avx2,bmi,bmi2,lzcnt")]] uint64_t Borders::find_avx2(const uint8_t* p) const { return find_here(p, pairs_.data()); }
#else
uint64_t Borders::find_avx2(const uint8_t* p) const { return find_portable(p); }
#endif

uint64_t Borders::find(const uint8_t* p) const {
  return instructions() >= Instructions::kAvx2 ? find_avx2(p) : find_portable(p);
}

}  // namespace tokcli
