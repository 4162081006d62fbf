// The check of a text for a shortcut (engine/shortcut): a tokenizer with a normalizer and added tokens may be encoded
// by its ranks and pattern alone, as long as a text holds nothing that they do not account for. So before a text is
// split, one pass over it looks for three things: added tokens, characters that the normalizer may change, and
// characters that only the tokenizer itself can encode ("refused"). Over plain ASCII the pass runs at the speed of
// memory.
#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/id_buffer.h"
#include "characters/characters.h"
#include "characters/normal_forms.h"
#include "text/text.h"

namespace tokcli {

class TextCheck {
 public:
  static constexpr uint32_t kNoToken = 0xFFFFFFFF;  // the id of characters that are refused
  // A token or refused characters in a text; begin and end in units of the text.
  struct Match {
    uint64_t begin, end, id;
  };
  enum class Verdict { kFine, kRewritten, kRefused };

  // `form`: that of the text that the shortcut encodes; without one, no text is changed. `refused`: ranges of characters
  // that it cannot encode, the first and the last of each, in order.
  explicit TextCheck(std::optional<NormalForm> form = {}, std::vector<uint32_t> refused = {});
  // Adds a token. Of two with the same text the first counts. All tokens are added, and then sorted, before the first
  // text is read.
  void add_token(Bytes utf8, uint32_t id);
  void sort_tokens();

  // Says whether the shortcut may encode a text: as it is (kFine), or as the UTF-8 written to `out` (kRewritten), or
  // not.
  Verdict read(const Text& text, ByteBuffer& out) const;
  // Returns, in order, the tokens in a text (the leftmost, and of those the longest), and refused characters, each with
  // the text around it up to places where text may be cut. One check should look for one of the two: that text around
  // refused characters may hold tokens.
  std::vector<Match> find(const Text& text) const;
  // Returns where the characters of a text come from once it is in the form: two numbers each where they do not go on as
  // the text does, a place in the normalized text, and the place of its origin; in characters, of a text that is not UTF-8.
  std::vector<uint64_t> breaks(const Text& text) const;

 private:
  static constexpr uint32_t kRun = 0xFFFFFFFE;  // stands for an id: characters that a normalizer changes
  // What a code point is. 1 to 240: a combining mark, which is in order after marks with a lower or equal number; or
  // one of these. kChanging: the normalizer may change it, or join it to the character before it. kRefused: the shortcut
  // cannot encode it. kBegins: a token may begin with it, else it is plain. kBeginsRefused: a token may begin with it,
  // else it is refused. kNotFound stands for none that was found yet.
  enum Value : uint8_t { kPlain = 0, kChanging = kChanges, kNotFound = 252, kBegins, kBeginsRefused, kRefused };
  struct Token {
    std::vector<uint32_t> points;
    std::string utf8;
    uint32_t id;
  };
  template <class Reader, class Visit>
  void visit_units(const Reader& text, const Visit& visit) const;
  template <class Reader>
  const Token* token_at(const Reader& text, size_t at, size_t* end) const;
  template <class Visit>
  void visit(const Text& text, const Visit& visit) const;
  template <class Visit>
  static void each_point(const Text& text, const Visit& visit);
  uint8_t value(uint32_t point) const {
    const auto find = [this](uint32_t c) { return static_cast<uint8_t>(find_value(c) ^ kNotFound); };
    return values_.get(point, find) ^ kNotFound;
  }
  uint8_t find_value(uint32_t point) const;
  bool is_refused(uint32_t point) const;
  bool normalize(const Text& run, std::vector<FormChar>& made) const;

  const std::optional<NormalForm> form_;
  const std::vector<uint32_t> refused_;
  FoundValues<uint8_t> values_;  // of code points, as numbers that are not 0
  std::unordered_map<uint32_t, std::vector<Token>, SeededHash> tokens_;  // by their first code point, in order
  std::array<std::bitset<128>, 128> pairs_;                              // [first][second]: some token begins with both; ASCII only
  std::array<uint8_t, 128> ascii_{};                         // the values of ASCII
  std::vector<uint8_t> special_ascii_;                       // the characters of ASCII that are not plain
};

}  // namespace tokcli
