// Lists of merges as tokenizer files have them, told in ids; and the vocabulary image that does the same by ranks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary.h"

namespace tokcli {

// Texts (UTF-8, distinct) and their ids, to be looked up many at a time.
class TextTable {
 public:
  // What stands in memory for a while behind each text that is looked up: so many bytes may be read.
  static constexpr size_t kReadable = 16;

  explicit TextTable(size_t count);
  void add(std::string_view text, uint32_t id);

  struct Question {
    Key key;
    uint64_t place;
    std::string_view text;
  };
  // kReadable bytes may be read from the beginning of `text`.
  Question ask(std::string_view text) const {
    Question question{};
    question.text = text;
    if (text.size() <= kKeyBytes) {
      question.key = key_of(reinterpret_cast<const uint8_t*>(text.data()), text.size(), kReadable);
      question.place = high_bits(hash_of(question.key), bits_);
    } else {
      const uint64_t hash = hash_bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
      question.key = {hash, kLong};
      question.place = high_bits(hash * kHashLow, bits_);
    }
    __builtin_prefetch(&slots_[question.place]);
    return question;
  }
  uint32_t answer(const Question& question) const;  // kNone where there is no such text

 private:
  static constexpr uint64_t kLong = uint64_t{0xFF} << 56;  // of a key that is the hash of a longer text
  struct Slot {
    Key key;
    uint32_t id = kNone, index = 0;
  };
  unsigned bits_;
  std::vector<Slot> slots_;
  std::string texts_;  // those that are longer than a key
  std::vector<std::pair<size_t, size_t>> longs_;  // where they stand
};

// Merges of texts in ids: each left, right, and what both together are, without the first bytes of the right one.
class MergeReader {
 public:
  MergeReader(const TextTable& table, size_t prefix) : table_(table), prefix_(prefix) {}
  // Whether it may be one. What is added is looked up later, some at a time: false then, too.
  bool add(std::string_view left, std::string_view right);
  // All that was added; nothing where one of the texts is none, or a pair stands there twice.
  std::optional<std::vector<Vocabulary::Merge>> merges();

 private:
  bool look_up();
  static constexpr size_t kAtOnce = 32;
  const TextTable& table_;
  size_t prefix_;
  std::string held_;                  // left, right, both: of each merge that was not looked up
  std::vector<size_t> ends_;          // in it
  std::vector<Vocabulary::Merge> merges_;
  bool are_known_ = true;
};

// What ranked.py's `Ranked` is made of.
struct RankedMerges {
  std::vector<uint8_t> image;
  std::vector<uint32_t> ids;         // of the ranks: bytes, what merges make, what is found whole
  std::vector<uint32_t> whole_only;
  std::vector<Vocabulary::Merge> merges;
  std::array<bool, 256> has_byte{};
};

// Twin of ranked.py's `ranks_of_merges`. Tokens have distinct bytes. length_error where they are too long for it,
// invalid_argument where there is no image of them.
std::optional<RankedMerges> rank_merges(std::span<const Token> tokens, std::span<const Vocabulary::Merge> merges,
                                        bool finds_whole, bool drops_missing = false);

// The bytes that a text in GPT-2's alphabet (byte_alphabet.py) stands for, added to `out`; false where it is none.
bool add_alphabet_bytes(std::string_view text, std::vector<uint8_t>& out);

}  // namespace tokcli
