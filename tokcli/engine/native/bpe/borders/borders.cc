// Finding borders: see borders.h.
#include "bpe/borders/borders.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "base/processor.h"
#include "base/watch.h"

#if defined(TOKCLI_SSE2)
#include <emmintrin.h>
#endif

namespace tokcli {

// What is read of a token: its first two bytes, its last two, and its size, where 3 stands for more and 0 for no token.
struct Borders::Outline {
  uint8_t first = 0, second = 0, last_but_one = 0, last = 0, size = 0;
  explicit Outline(std::string_view text = {}) : size(static_cast<uint8_t>(std::min<size_t>(text.size(), 3))) {
    if (text.empty()) return;
    first = static_cast<uint8_t>(text.front());
    last = static_cast<uint8_t>(text.back());
    if (text.size() == 1) return;
    second = static_cast<uint8_t>(text[1]);
    last_but_one = static_cast<uint8_t>(text[text.size() - 2]);
  }
};

// The merges that decide whether characters of three bytes are sure.
struct Borders::Threats {
  bool are_in_order = true;                    // whether every token is made after its parts
  std::vector<std::array<uint32_t, 2>> found;  // the first two bytes of a character, and all three
  struct Left {
    uint32_t two, made;
    uint8_t before;
  };
  std::vector<Left> lefts;  // merges of two bytes that begin a character with what ends with the byte `before`

  void add(uint32_t left, const Outline& a, uint32_t right, const Outline& b, uint32_t made) {
    are_in_order = are_in_order && made > left && made > right;
    if (b.size == 2 && b.first >= 0xE0 && a.last >= 0x80) lefts.push_back({right, made, a.last});
    if (a.size == 2 && b.size == 1 && (a.first & 0xF0) == 0xE0) found.push_back({left, made});
  }
};

Borders::Borders(const Vocabulary& v) : pairs_(size_t{1} << 16, {kNever, kNever, kNever, 0}) {
  const auto bits = static_cast<unsigned>(std::bit_width(v.id_count()));
  const unsigned filter_bits = std::clamp(bits, 11u, 18u) - 3;
  shift_ = bits < 16 ? 0 : bits - 15;
  filter_shift_ = 64 - filter_bits;
  filter_.resize(size_t{1} << filter_bits);
  // Of each part, read in order once: merges come in the order of a hash table, and name each part many times.
  constexpr size_t kBytesOfNoToken = 256;
  std::vector<Outline> outlines(v.id_count() + kBytesOfNoToken);
  for (uint32_t id = 0; id < v.id_count(); ++id) {
    if (std::string_view text; v.token(id, &text)) outlines[id] = Outline(text);
  }
  for (size_t i = 0; i < kBytesOfNoToken; ++i) {
    const char byte = static_cast<char>(i);
    outlines[v.id_count() + i] = Outline({&byte, 1});
  }
  std::vector<bool> is_made(v.id_count());
  Threats threats;
  Pace pace;
  v.for_each_merge([&](uint32_t left, uint32_t right, uint32_t made) {
    pace.step(8);
    if (made < v.id_count()) is_made[made] = true;
    if (std::max(left, right) >= outlines.size()) return;
    const Outline &a = outlines[left], &b = outlines[right];
    if (a.size == 0 || b.size == 0) return;
    add(a, b, made);
    threats.add(left, a, right, b, made);
  });
  for (uint32_t id = 0; id < v.id_count(); ++id) {
    const Outline& token = outlines[id];
    if (token.size == 1 ? v.byte_part(token.first) != id : token.size > 1 && !is_made[id]) are_of_pieces_ = false;
  }
  find_characters(v, &threats);
}

// A character is sure where its first two bytes are merged first and its last one then, each before any merge that would take
// a byte away, and where no token is made before its parts are: so that merges come in the order of their ranks, and none
// that the character has a part in comes before it is there.
void Borders::find_characters(const Vocabulary& v, Threats* threats) {
  characters_.assign(size_t{1} << 16, {~uint64_t{0}, kNone});
  if (!threats->are_in_order) return;
  std::array<uint16_t, 256> rights;  // of each byte: the lowest of merging it with what begins the next character
  for (unsigned byte = 0; byte < rights.size(); ++byte) {
    rights[byte] = kNever;
    for (unsigned next = 0xC0; next < 0x100; ++next)
      rights[byte] = std::min(rights[byte], pair(static_cast<uint8_t>(byte), static_cast<uint8_t>(next)).rights);
  }
  const auto is_before = [](const Threats::Left& a, const Threats::Left& b) { return a.two < b.two; };
  std::sort(threats->lefts.begin(), threats->lefts.end(), is_before);
  for (const auto& [two, id] : threats->found) {
    std::string_view text;
    if (!v.token(id, &text) || text.size() != 3) continue;
    const auto a = static_cast<uint8_t>(text[0]), b = static_cast<uint8_t>(text[1]), c = static_cast<uint8_t>(text[2]);
    if (v.merged_bytes(a, b) != two || two >> shift_ >= pair(b, c).rights || id >> shift_ >= rights[c]) continue;
    Character& character = characters_[code_of(a, b, c)] = {0, id};
    for (unsigned last = 0x80; last < 0xC0; ++last)
      character.unsure |= uint64_t{two >> shift_ >= pair(static_cast<uint8_t>(last), a).lefts} << (last & 63);
    const auto [begin, end] = std::equal_range(threats->lefts.begin(), threats->lefts.end(), Threats::Left{two, 0, 0}, is_before);
    for (auto left = begin; left != end; ++left) {
      if (left->before < 0xC0 && left->made <= id) character.unsure |= uint64_t{1} << (left->before & 63);
    }
  }
}

void Borders::add(const Outline& left, const Outline& right, uint32_t rank) {
  const auto low = static_cast<uint16_t>(std::min<uint32_t>(rank >> shift_, kNever - 1));
  const uint32_t both = left.last | uint32_t{right.first} << 8;
  Pair& pair = pairs_[number(left.last, right.first)];
  if (left.size == 1 && right.size == 1) pair.rank = std::min(pair.rank, low);
  if (left.size == 1) pair.rights = std::min(pair.rights, low);
  if (right.size == 1) pair.lefts = std::min(pair.lefts, low);
  const Place ends(left.last_but_one | both << 8), begins(both | uint32_t{right.second} << 16);
  if (left.size > 1 && right.size > 1) word_of(begins) |= uint64_t{1} << begins.four_bit(left.last_but_one);
  else if (left.size > 1) word_of(ends) |= uint64_t{1} << (ends.three_bit() + kTwoAndOne);
  else if (right.size > 1) word_of(begins) |= uint64_t{1} << (begins.three_bit() + kOneAndTwo);
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
