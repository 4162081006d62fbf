// Where the pieces of a text end, for any pattern that is a program: a table-driven automaton, made while it runs.
//
// A state is an ordered list of the places that threads of the program have reached (M. O. Rabin and D. Scott, 1959;
// with an order: R. Cox, "Regular expression matching in the wild", 2010). The preferred thread comes first, and what
// comes after a thread that has matched is dropped. A step looks at one character: first the conditions on the
// characters before and after the place are known, then each thread takes the character or ends. So a match is seen one
// character later. States and steps are made when a text first needs them, and forgotten where they take too much
// memory.
//
// Time is linear in the text. A scan that runs far beyond the last match notes the states it has been in, in vain, and a
// later scan stops where it would do the same (T. Reps, "Maximal-munch tokenization in linear time", 1998).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "patterns/program.h"

namespace tokcli {

// Finds the pieces of one text at a time; for one thread at a time.
class Matcher {
 public:
  explicit Matcher(const Program& program);

  // Takes the text whose pieces are wanted. `is_whole`: nothing follows it; else its last pieces are left open.
  void begin(Bytes text, bool is_whole);
  // Takes a text in which matches are looked for: characters that begin no match are pieces, of the alternative 0, one
  // by one or several at once.
  void begin_search(Bytes text);
  // Takes a part of the text of begin_search as a text of its own. The time for all parts is that for the whole.
  void begin_part(Bytes part);
  // Returns whether some character of a part of a text may begin a match.
  bool may_match_in(const uint8_t* p, const uint8_t* end) const { return skip_idle(p, end) != end; }
  // Writes the ends of the next pieces from p on, at most `room`, and to `alternatives`, if it is not null, the number
  // of the alternative that each matched; returns their number. Fewer than `room` are found where the text ends, where
  // what follows it could change a piece, or where the pattern has `failed`.
  size_t find(const uint8_t* p, const uint8_t** ends, uint16_t* alternatives, size_t room);
  // Whether no piece was found at the last place: the pattern leaves text out there, or takes too much time.
  bool has_failed() const { return has_failed_; }

 private:
  // An entry of the tables: a state times 256, and these flags about the place before the character.
  using Entry = uint32_t;
  static constexpr Entry kHit = 1;    // a match ends there
  static constexpr Entry kNext = 2;   // a piece ends there, and the state is that of the next piece
  static constexpr Entry kStop = 4;   // no thread goes on
  static constexpr Entry kAsk = 8;    // not known yet; in the table of bytes also: not ASCII
  static constexpr Entry kFlags = 0xFF;

  // What the threads of a state do with a character.
  struct Advance {
    std::u16string threads;
    uint16_t alternative = 0;  // of the match before the character, if there is one
  };
  // How a scan of one piece goes on.
  struct Scan {
    const uint8_t *from, *at, *last;  // where the piece begins, the next character, and the end of the last match
    Entry state;
    uint16_t alternative = 0;
  };

  template <bool with_alternatives>
  size_t find_ends(const uint8_t* p, const uint8_t** ends, uint16_t* alternatives, size_t room);
  bool look_far(Scan& scan);
  void note(std::unordered_set<uint64_t, SeededHash>& seen);

  unsigned kind_at(const uint8_t*& p) const;
  Entry start_at(const uint8_t* p);
  // Returns what a state does with a character, and sets `made_alternative_` to the alternative that it matches.
  Entry entry(Entry state, unsigned kind) {
    const size_t place = size_t{state >> 8} * width_ + kind;
    made_alternative_ = alternatives_[place];
    return entries_[place] & kAsk ? make_entry(state, kind) : entries_[place];
  }
  Entry make_entry(Entry state, unsigned kind);
  Advance advance(unsigned context, const std::u16string& threads, unsigned kind);
  Entry state_of(unsigned context, const std::u16string& threads);
  void forget();
  void find_idle();
  const uint8_t* skip_idle(const uint8_t* p, const uint8_t* end) const;

  const Program& program_;
  const unsigned width_;  // the classes, and the end of the text
  const size_t most_states_;
  std::vector<Entry> bytes_;    // 256 for each state
  std::vector<Entry> entries_;  // width_ for each state
  std::vector<uint16_t> alternatives_;
  std::unordered_map<std::u16string, Entry, SeededHash> numbers_;  // of a context and threads
  std::vector<const std::u16string*> keys_;  // with room for all states
  std::vector<Entry> starts_;  // the state in which a piece begins, by context
  std::vector<uint8_t> idle_;  // for each class, whether no match begins with it; empty: a match may look back
  std::array<uint8_t, 256> is_idle_byte_{};  // the same for ASCII; all others are 0
  uint64_t forgotten_ = 0;     // how often all states were forgotten
  uint16_t made_alternative_ = 0;

  std::vector<uint32_t> waiting_, visited_;  // visited_: for each step, and for what follows it, when it was seen
  uint32_t visit_ = 0;

  Bytes text_;
  bool is_whole_ = true, searches_ = false, has_failed_ = false;
  uint64_t work_ = 0, most_work_ = 0;
  std::unordered_set<uint64_t, SeededHash> dead_, open_;  // places and states from which no match was found; up to the end
  std::vector<uint64_t> trail_;
};

}  // namespace tokcli
