// What has to be known of a text before it is split and merged as it stands: whether an added token is in it, or a
// character that the shortcut is not for, or one that a normalizer changes (shortcut.py). One pass, and over ASCII at the
// speed of memory.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text.h"

namespace tokcli {

class TextCheck {
 public:
  // What is said of a code point: nothing, or the class (1 to 240) of a mark that is in order behind lower and equal ones,
  // or one of these. kLoose: a normalizer may change it, or join it to what stands before it. kOdd: not for the shortcut.
  // kBegins, kBoth: a token may begin with it, and it is kLoose or kOdd, too.
  enum Value : uint8_t { kPlain = 0, kLoose = 251, kBegins = 253, kBoth = 254, kOdd = 255 };
  static constexpr uint32_t kPages = 0x1100, kPage = 256;
  static constexpr uint32_t kCharacters = 0xFFFFFFFF;  // the id of what is no token
  struct Found {
    uint64_t begin, end, id;  // in units of the text
  };
  enum class Verdict { kFine, kRewritten, kStops };

  // A token; of two with the same text the first counts. Before any text is looked at.
  void add_token(Bytes utf8, uint32_t id);
  // The values of 256 code points. Once for each page, by any thread.
  void set_page(uint32_t page, const uint8_t* values);
  // What a normalizer makes of a run: a plain character and those behind it that go with it. `stops`: it is not for the
  // shortcut then.
  void set_run(Bytes run, Bytes text, bool stops);
  // The pages and the runs that were missed, which are then forgotten. What was answered meanwhile is not to be used.
  std::vector<uint32_t> take_wanted();
  std::vector<std::string> take_wanted_runs();

  // Whether a text may be encoded: as it is, or as the UTF-8 in `out`.
  Verdict read(const Text& text, std::vector<uint8_t>& out) const;
  // The tokens in a text, the leftmost and longest, and the odd characters up to where text may be cut before and behind
  // them (a check for both has no use: in a cut there may be tokens). In order.
  std::vector<Found> find(const Text& text) const;

 private:
  static constexpr uint32_t kRun = 0xFFFFFFFE;
  static constexpr size_t kMostRuns = 1 << 14, kMostRunBytes = 256;
  struct Token {
    std::vector<uint32_t> points;
    std::string utf8;
    uint32_t id;
  };
  struct Run {
    std::string text;
    bool stops;
  };
  using Page = std::array<uint8_t, kPage>;

  template <class Reader, class Visit>
  void look(const Reader& text, const Visit& visit) const;
  template <class Reader>
  const Token* token_at(const Reader& text, size_t at, size_t* end) const;
  template <class Visit>
  void visit(const Text& text, const Visit& visit) const;
  uint8_t value(uint32_t point) const {
    const Page* page = pages_[point < kPages * kPage ? point >> 8 : 0xFF].get();
    return page ? (*page)[point & 0xFF] : unknown(point);
  }
  uint8_t unknown(uint32_t point) const;
  bool is_wanting() const { return is_wanting_.load(std::memory_order_relaxed); }

  struct Slot {  // a page that is set at most once, and read without a lock
    std::atomic<const Page*> page{nullptr};
    const Page* get() const { return page.load(std::memory_order_acquire); }
    ~Slot() { delete page.load(); }
  };
  std::array<Slot, kPages> pages_;
  std::unordered_map<uint32_t, std::vector<Token>> tokens_;  // by their first code point, the longest first
  std::array<std::bitset<128>, 128> pairs_;                  // of ASCII that tokens begin with
  std::array<uint8_t, 128> ascii_{};                         // the values of ASCII
  std::vector<uint8_t> odd_ascii_;                           // what of it is not plain
  mutable std::mutex mutex_;                                 // of what is wanted
  mutable std::bitset<kPages> wanted_;
  mutable std::unordered_set<std::string> wanted_runs_;
  mutable std::atomic<bool> is_wanting_{false};
  mutable std::shared_mutex runs_mutex_;
  std::unordered_map<std::string, Run> runs_;
};

}  // namespace tokcli
