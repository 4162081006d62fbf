// Making the tables of borders: see border_builder.h.
#include "bpe/borders/border_builder.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/watch.h"

namespace tokcli {

// What is read of a token: its first two bytes, its last two, and its size, where 3 stands for more and 0 for no token.
struct BorderBuilder::Outline {
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
struct BorderBuilder::Threats {
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

BorderBuilder::BorderBuilder(const Vocabulary& tokens, const Room& room)
    : tokens_(tokens), room_(room), is_made_(tokens.id_count()), rank_shift_(Borders::rank_shift(tokens.id_count())),
      crossing_bits_(Borders::crossing_bits(tokens.id_count())) {}

void BorderBuilder::add(std::span<const Vocabulary::Merge> merges) {
  // Of each part, read in order once: merges name each many times.
  constexpr size_t kBytesOfNoToken = 256;
  const uint32_t id_count = tokens_.id_count();
  std::vector<Outline> outlines(id_count + kBytesOfNoToken);
  for (uint32_t id = 0; id < id_count; ++id) {
    if (std::string_view text; tokens_.token(id, &text)) outlines[id] = Outline(text);
  }
  for (size_t i = 0; i < kBytesOfNoToken; ++i) {
    const char byte = static_cast<char>(i);
    outlines[id_count + i] = Outline({&byte, 1});
  }
  Threats threats;
  Pace pace;
  for (const auto& [left, right, made] : merges) {
    pace.step(8);
    if (made < id_count) is_made_[made] = true;
    if (std::max(left, right) >= outlines.size()) continue;
    const Outline &a = outlines[left], &b = outlines[right];
    if (a.size == 0 || b.size == 0) continue;
    add(a, b, made);
    threats.add(left, a, right, b, made);
    if (a.size == 1 && b.size == 1 && made < id_count && tokens_.byte_part(a.first) == left && tokens_.byte_part(b.first) == right)
      room_.pairs[Borders::number(a.first, b.first)].made = made;
  }
  if (threats.are_in_order && !room_.numbers.empty()) add_characters(&threats);
}

bool BorderBuilder::are_of_pieces() const {
  for (uint32_t id = 0; id < tokens_.id_count(); ++id) {
    std::string_view text;
    if (!tokens_.token(id, &text) || text.empty()) continue;
    if (text.size() == 1 ? tokens_.byte_part(static_cast<uint8_t>(text[0])) != id : !is_made_[id]) return false;
  }
  return true;
}

// A character is sure where its first two bytes are merged first and its last one then, each before any merge that would take
// a byte away, and where no token is made before its parts are: so that merges come in the order of their ranks, and none
// that the character has a part in comes before it is there.
void BorderBuilder::add_characters(Threats* threats) {
  std::array<uint16_t, 256> rights;  // of each byte: the lowest of merging it with what begins the next character
  for (unsigned byte = 0; byte < rights.size(); ++byte) {
    rights[byte] = Borders::kNever;
    for (unsigned next = 0xC0; next < 0x100; ++next)
      rights[byte] = std::min(rights[byte], pair(static_cast<uint8_t>(byte), static_cast<uint8_t>(next)).rights);
  }
  const auto is_before = [](const Threats::Left& a, const Threats::Left& b) { return a.two < b.two; };
  std::sort(threats->lefts.begin(), threats->lefts.end(), is_before);
  size_t count = 0;
  for (const auto& [two, id] : threats->found) {
    std::string_view text;
    if (!tokens_.token(id, &text) || !may_be_character(reinterpret_cast<const uint8_t*>(text.data()), text.size())) continue;
    const auto a = static_cast<uint8_t>(text[0]), b = static_cast<uint8_t>(text[1]), c = static_cast<uint8_t>(text[2]);
    if (pair(a, b).made != two || two >> rank_shift_ >= pair(b, c).rights || id >> rank_shift_ >= rights[c]) continue;
    if (count == room_.characters.size()) break;
    Borders::Character& character = room_.characters[count] = {0, id, 0};
    room_.numbers[Borders::code_of(a, b, c)] = static_cast<uint16_t>(++count);
    for (unsigned last = 0x80; last < 0xC0; ++last)
      character.unsure |= uint64_t{two >> rank_shift_ >= pair(static_cast<uint8_t>(last), a).lefts} << (last & 63);
    const auto [begin, end] = std::equal_range(threats->lefts.begin(), threats->lefts.end(), Threats::Left{two, 0, 0}, is_before);
    for (auto left = begin; left != end; ++left) {
      if (left->before < 0xC0 && left->made <= id) character.unsure |= uint64_t{1} << (left->before & 63);
    }
  }
}

void BorderBuilder::add(const Outline& left, const Outline& right, uint32_t rank) {
  const auto low = static_cast<uint16_t>(std::min<uint32_t>(rank >> rank_shift_, Borders::kNever - 1));
  const uint32_t both = left.last | uint32_t{right.first} << 8;
  Borders::Pair& pair = room_.pairs[Borders::number(left.last, right.first)];
  if (left.size == 1) pair.rights = std::min(pair.rights, low);
  if (right.size == 1) pair.lefts = std::min(pair.lefts, low);
  using Place = Borders::Place;
  const Place ends(left.last_but_one | both << 8, 0), begins(both | uint32_t{right.second} << 16, left.last_but_one);
  const auto word_of = [&](const Place& place) -> uint64_t& { return room_.crossings[place.word(crossing_bits_)]; };
  if (left.size > 1 && right.size > 1) word_of(begins) |= uint64_t{1} << Place::four_bit(begins.hash);
  else if (left.size > 1) word_of(ends) |= uint64_t{1} << (Place::three_bit(ends.hash) + Borders::kTwoAndOne);
  else if (right.size > 1) word_of(begins) |= uint64_t{1} << (Place::three_bit(begins.hash) + Borders::kOneAndTwo);
}

}  // namespace tokcli
