// The check of a text for a shortcut (engine/shortcut): a tokenizer with a normalizer and added tokens may be encoded
// by its ranks and pattern alone, as long as a text holds nothing that they do not account for. So before a text is
// split, one pass over it looks for three things: added tokens, characters that the normalizer may change, and
// characters that only the tokenizer itself can encode ("refused"). Over plain ASCII the pass runs at the speed of
// memory.
//
// What each code point is comes from Python in pages of 256, when a text first needs a page. What a normalizer makes of
// a few characters together (a run) comes from Python too. A check that misses either answers "refused", remembers what
// it missed, and Python tries again after it has answered.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/fork.h"
#include "base/hash.h"
#include "base/id_buffer.h"
#include "text/text.h"

namespace tokcli {

class TextCheck {
 public:
  // What a code point is. 1 to 240: a combining mark, which is in order after marks with a lower or equal number; or
  // one of these. kChanging: a normalizer may change it, or join it to the character before it. kRefused: the shortcut
  // cannot encode it. kBegins: a token may begin with it, else it is plain. kBeginsRefused: a token may begin with it,
  // else it is refused.
  enum Value : uint8_t { kPlain = 0, kChanging = 251, kBegins = 253, kBeginsRefused = 254, kRefused = 255 };
  static constexpr uint32_t kPages = 0x1100, kPage = 256;
  static constexpr uint32_t kNoToken = 0xFFFFFFFF;  // the id of characters that are refused
  // A token or refused characters in a text; begin and end in units of the text.
  struct Match {
    uint64_t begin, end, id;
  };
  enum class Verdict { kFine, kRewritten, kRefused };

  // Adds a token. Of two with the same text the first counts. All tokens are added, and then sorted, before the first
  // text is read.
  void add_token(Bytes utf8, uint32_t id);
  void sort_tokens();
  // Sets the values of 256 code points: once for each page, from any thread.
  void set_page(uint32_t page, const uint8_t* values);
  // Sets what a normalizer makes of a run: a plain character and the characters after it that it may change or join.
  // `is_refused`: the shortcut cannot encode what it becomes.
  void set_run(Bytes run, Bytes text, bool is_refused);
  // Return the pages and the runs that were missing since the last call. What was answered meanwhile is not to be used.
  // Where a text asked for more runs than are kept, none of them is returned, and the answer stays refused.
  std::vector<uint32_t> take_wanted();
  std::vector<std::string> take_wanted_runs();

  // Says whether the shortcut may encode a text: as it is (kFine), or as the UTF-8 written to `out` (kRewritten), or
  // not.
  Verdict read(const Text& text, ByteBuffer& out) const;
  // Returns, in order, the tokens in a text (the leftmost, and of those the longest), and refused characters, each with
  // the text around it up to places where text may be cut. One check should look for one of the two: that text around
  // refused characters may hold tokens.
  std::vector<Match> find(const Text& text) const;
  // Returns where the runs are that a normalizer may change: begin and end of each, in units of the text.
  std::vector<uint64_t> find_runs(const Text& text) const;

 private:
  static constexpr uint32_t kRun = 0xFFFFFFFE;  // stands for an id: characters that a normalizer changes
  static constexpr size_t kMostRuns = 1 << 14, kMostRunBytes = 256;
  struct Token {
    std::vector<uint32_t> points;
    std::string utf8;
    uint32_t id;
  };
  struct Run {
    std::string text;
    bool is_refused;
  };
  using Page = std::array<uint8_t, kPage>;

  template <class Reader, class Visit>
  void visit_units(const Reader& text, const Visit& visit) const;
  template <class Reader>
  const Token* token_at(const Reader& text, size_t at, size_t* end) const;
  template <class Visit>
  void visit(const Text& text, const Visit& visit) const;
  uint8_t value(uint32_t point) const {
    const Page* page = pages_[point < kPages * kPage ? point >> 8 : 0xFF].get();
    return page ? (*page)[point & 0xFF] : want_page(point);
  }
  uint8_t want_page(uint32_t point) const;
  bool is_wanting() const { return is_wanting_.load(std::memory_order_relaxed); }

  struct PageSlot {  // a page that is set at most once, and read without a lock
    std::atomic<const Page*> page{nullptr};
    const Page* get() const { return page.load(std::memory_order_acquire); }
    ~PageSlot() { delete page.load(); }
  };
  std::array<PageSlot, kPages> pages_;
  std::unordered_map<uint32_t, std::vector<Token>, SeededHash> tokens_;  // by their first code point, in order
  std::array<std::bitset<128>, 128> pairs_;                              // [first][second]: some token begins with both; ASCII only
  std::array<uint8_t, 128> ascii_{};                         // the values of ASCII
  std::vector<uint8_t> special_ascii_;                       // the characters of ASCII that are not plain
  mutable std::bitset<kPages> wanted_;                       // a BriefLock guards these, and pages that are set
  mutable std::unordered_set<std::string, SeededHash> wanted_runs_;
  mutable bool has_too_many_ = false;  // whether a text asked for more runs than are kept
  mutable std::atomic<bool> is_wanting_{false};
  mutable ReadersLock runs_lock_;
  std::unordered_map<std::string, Run, SeededHash> runs_;
};

}  // namespace tokcli
