// Looking up the texts of merges: see merge_list.h.
#include "bpe/merge_list.h"

#include <algorithm>
#include <bit>

#include "text/utf8.h"

namespace tokcli {

TextTable::TextTable(size_t count)
    : bits_(static_cast<unsigned>(std::bit_width(count * 3 / 2 + 1))), slots_(size_t{1} << bits_) {}

void TextTable::add(std::string_view text, uint32_t id) {
  std::array<char, kReadable> padded{};
  const bool is_short = text.size() <= kKeyBytes;
  if (is_short) std::copy(text.begin(), text.end(), padded.begin());
  const Question question = ask(is_short ? std::string_view(padded.data(), text.size()) : text);
  size_t at = question.place;
  while (slots_[at].id != kNone && !is_in(slots_[at], question)) at = (at + 1) & (slots_.size() - 1);
  if (slots_[at].id != kNone) return;  // of equal texts the first counts
  slots_[at] = {question.key, id, static_cast<uint32_t>(longs_.size())};
  if (is_short) return;
  longs_.emplace_back(texts_.size(), text.size());
  texts_.append(text);
}

uint32_t TextTable::answer(const Question& question) const {
  for (size_t at = question.place;; at = (at + 1) & (slots_.size() - 1)) {  // a third of the slots is free
    const Slot& slot = slots_[at];
    if (slot.id == kNone) return kNone;
    if (is_in(slot, question)) return slot.id;
  }
}

// Returns whether a slot that is taken has the text that is asked for.
bool TextTable::is_in(const Slot& slot, const Question& question) const {
  if (slot.key != question.key) return false;
  if (question.text.size() <= kKeyBytes) return true;
  const auto& [begin, size] = longs_[slot.index];
  return std::string_view(texts_).substr(begin, size) == question.text;
}

bool MergeReader::add(std::string_view left, std::string_view right) {
  size_t cut = 0;  // where the prefix ends, which is counted in characters
  for (size_t i = 0; i < prefix_; ++i) {
    if (cut == right.size()) return false;
    while (++cut < right.size() && !begins_char(static_cast<uint8_t>(right[cut]))) continue;
  }
  if (left.empty() || right.empty()) return false;
  for (const std::string_view part : {left, right, left, right.substr(cut)}) held_.append(part);
  const size_t begin = ends_.empty() ? 0 : ends_.back();
  ends_.push_back(begin + left.size());
  ends_.push_back(ends_.back() + right.size());
  ends_.push_back(held_.size());
  return ends_.size() < 3 * kAtOnce || look_up();
}

bool MergeReader::look_up() {
  std::array<TextTable::Question, 3 * kAtOnce> questions;
  held_.append(TextTable::kReadable, '\0');
  size_t begin = 0;
  for (size_t i = 0; i < ends_.size(); begin = ends_[i++]) {
    questions[i] = table_.ask(std::string_view(held_).substr(begin, ends_[i] - begin));
  }
  for (size_t i = 0; i < ends_.size(); i += 3) {
    Vocabulary::Merge merge;
    for (size_t k = 0; k < 3; ++k) {
      merge[k] = table_.answer(questions[i + k]);
      are_known_ &= merge[k] != kNone;
    }
    merges_.push_back(merge);
  }
  held_.clear();
  ends_.clear();
  return are_known_;
}

// Pairs that were added twice are found with a hash table of the numbers of merges.
std::optional<std::vector<Vocabulary::Merge>> MergeReader::merges() {
  if (!look_up()) return std::nullopt;
  const unsigned bits = static_cast<unsigned>(std::bit_width(merges_.size() * 5 / 4 + 1));
  std::vector<uint32_t> numbers(size_t{1} << bits, kNone);
  constexpr size_t kAhead = 16;
  const uint64_t seed = process_seed().low;
  const auto place_of = [&](const Vocabulary::Merge& merge) {
    return high_bits(mix((uint64_t{merge[0]} << 32 | merge[1]) ^ seed, kHashLow), bits);
  };
  for (size_t i = 0; i < merges_.size(); ++i) {
    if (i + kAhead < merges_.size()) __builtin_prefetch(&numbers[place_of(merges_[i + kAhead])]);
    size_t at = place_of(merges_[i]);
    for (; numbers[at] != kNone; at = (at + 1) & (numbers.size() - 1)) {
      const Vocabulary::Merge& other = merges_[numbers[at]];
      if (other[0] == merges_[i][0] && other[1] == merges_[i][1]) return std::nullopt;
    }
    numbers[at] = static_cast<uint32_t>(i);
  }
  return std::move(merges_);
}

namespace {

// The byte of each character of the alphabet: printable characters of Latin-1 are their own byte, and the other bytes
// have the characters from U+0100 on.
constexpr uint16_t kNoByte = 256;
constexpr auto kByteOf = [] {
  std::array<uint16_t, 0x144> bytes{};
  bytes.fill(kNoByte);
  uint16_t next = 0x100;
  for (uint16_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    bytes[is_printable ? byte : next++] = byte;
  }
  return bytes;
}();

}  // namespace

bool add_alphabet_bytes(std::string_view text, std::vector<uint8_t>& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned c = static_cast<uint8_t>(text[i]);
    if (c >= 0xC2 && c <= 0xC5 && i + 1 < text.size()) c = (c & 0x1F) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3F);
    else if (c >= 0x80) return false;
    if (c >= kByteOf.size() || kByteOf[c] == kNoByte) return false;
    out.push_back(static_cast<uint8_t>(kByteOf[c]));
  }
  return true;
}

}  // namespace tokcli
