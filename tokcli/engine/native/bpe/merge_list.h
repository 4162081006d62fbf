// Lists of merges as tokenizer files have them ("left right" in texts), turned into ids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpe/vocabulary.h"

namespace tokcli {

// Distinct texts (UTF-8) and their ids, made to be looked up many at a time: `ask` for several, then read their
// answers, so that memory is waited for once and not for each.
class TextTable {
 public:
  // So many bytes have to be readable from the beginning of each text that is looked up, however short it is.
  static constexpr size_t kReadable = 16;

  explicit TextTable(size_t count);
  void add(std::string_view text, uint32_t id);

  struct Question {
    Key key;
    uint64_t place;
    std::string_view text;
  };
  Question ask(std::string_view text) const {
    Question question{};
    question.text = text;
    if (text.size() <= kKeyBytes) {
      question.key = key_of(reinterpret_cast<const uint8_t*>(text.data()), text.size(), kReadable);
      question.place = high_bits(seeded_hash(question.key, seed_), bits_);
    } else {
      const uint64_t hash = hash_bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size(), seed_.low);
      question.key = {hash, kLong};
      question.place = high_bits(hash * kHashLow, bits_);
    }
    __builtin_prefetch(&slots_[question.place]);
    return question;
  }
  // Returns the id of the text that was asked for; kNone where there is no such text.
  uint32_t answer(const Question& question) const;

 private:
  static constexpr uint64_t kLong = uint64_t{0xFF} << 56;  // marks a key that is the hash of a longer text
  struct Slot {
    Key key;
    uint32_t id = kNone, index = 0;
  };
  bool is_in(const Slot& slot, const Question& question) const;
  Seed seed_ = process_seed();
  unsigned bits_;
  std::vector<Slot> slots_;
  std::string texts_;  // all texts that are longer than a key, in a row
  std::vector<std::pair<size_t, size_t>> longs_;  // where each of them begins, and its size
};

// Turns merges that are given as texts into ids: left, right, and what both become. What they become is their texts
// joined, without the first `prefix` characters of the right one (tokenizer.json's continuing_subword_prefix).
class MergeReader {
 public:
  MergeReader(const TextTable& table, size_t prefix) : table_(table), prefix_(prefix) {}
  // Adds a merge. Returns false where it cannot be a merge of these texts, or an earlier one is none: merges are looked
  // up some at a time.
  bool add(std::string_view left, std::string_view right);
  // Returns all merges; nothing where a text is not in the table, or a pair was added twice.
  std::optional<std::vector<Vocabulary::Merge>> merges();

 private:
  bool look_up();
  static constexpr size_t kAtOnce = 32;
  const TextTable& table_;
  size_t prefix_;
  std::string held_;          // left, right and both of each merge that has not been looked up yet, in a row
  std::vector<size_t> ends_;  // where each of these texts ends
  std::vector<Vocabulary::Merge> merges_;
  bool are_known_ = true;
};

// Appends the bytes that a text in GPT-2's alphabet says (engine/bpe/byte_alphabet.py: a printable character for each
// byte). Returns false where the text has another character.
bool add_alphabet_bytes(std::string_view text, std::vector<uint8_t>& out);

}  // namespace tokcli
