// Running an automaton and making its states: see matcher.h.
#include "patterns/matcher.h"

#include <algorithm>

#include "base/watch.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

constexpr size_t kMostMemory = 6 << 20;   // of the tables, in bytes
constexpr size_t kLookAround = 1 << 18;   // bytes after a match that may still change it, where more text may follow
constexpr size_t kFar = 1024;             // bytes after a match from which on a scan is noted
constexpr size_t kFarAgain = 64;          // the same, once there are notes
constexpr unsigned kNoteBits = 6;         // a note for every 64 bytes
constexpr size_t kMostNotes = 1 << 18;
constexpr uint64_t kWork = 20'000'000, kWorkPerByte = 256;  // steps of threads that may be taken for a text

}  // namespace

Matcher::Matcher(const Program& program)
    : program_(program),
      width_(program.classes() + 1),
      most_states_(std::clamp<size_t>(kMostMemory / (256 * sizeof(Entry) + width_ * (sizeof(Entry) + 2)), 16, 1 << 12)),
      visited_(2 * program.steps().size()) {
  keys_.reserve(most_states_);
  forget();
}

void Matcher::begin(Bytes text, bool is_whole) {
  begin_part(text);
  is_whole_ = is_whole;
  searches_ = false;
  work_ = 0;
  most_work_ = kWork + kWorkPerByte * text.size();
}

void Matcher::begin_search(Bytes text) {
  begin(text, true);
  searches_ = true;
  if (idle_.empty() && !program_.looks_back()) find_idle();
}

void Matcher::begin_part(Bytes part) {
  text_ = part;
  has_failed_ = false;
  if (!dead_.empty()) dead_.clear();  // (clearing costs time for a table that was once large)
  if (!open_.empty()) open_.clear();
}

size_t Matcher::find(const uint8_t* p, const uint8_t** ends, uint16_t* alternatives, size_t room) {
  return alternatives ? find_ends<true>(p, ends, alternatives, room) : find_ends<false>(p, ends, nullptr, room);
}

// Returns the class of the character at p and moves p after it.
inline unsigned Matcher::kind_at(const uint8_t*& p) const {
  const uint32_t code = next_char(p, text_.data() + text_.size());
  return program_.class_of(code > 0x10FFFF ? 0xFFFD : code);
}

// Bytes of ASCII take the inner loop, which has no branch for the end of a piece: the end is written in any case, and
// counted where it is one.
template <bool with_alternatives>
size_t Matcher::find_ends(const uint8_t* p, const uint8_t** ends, uint16_t* alternatives, size_t room) {
  const uint8_t* const end = text_.data() + text_.size();
  size_t found = 0;
  if (p == end || room == 0) return 0;
  Scan scan{p, p, p, start_at(p)};
  for (;;) {
    const uint8_t* at = scan.at;
    const size_t far = dead_.empty() && open_.empty() ? kFar : kFarAgain;
    const uint8_t* const stop = static_cast<size_t>(end - at) > far ? at + far : end;
    const Entry* const table = bytes_.data();
    Entry state = scan.state, entry = 0;
    const uint8_t* last = scan.last;
    const size_t before = found;
    while (at < stop && found < room) {
      entry = (table + *at)[state];
      if (entry & (kStop | kAsk)) [[unlikely]] break;
      if constexpr (with_alternatives) {
        if (entry & (kHit | kNext)) {
          scan.alternative = alternatives_[size_t{state >> 8} * width_ + program_.class_of(*at)];
          alternatives[found] = scan.alternative;
        }
      }
      ends[found] = at;
      found += (entry & kNext) >> 1;
      last = entry & (kHit | kNext) ? at : last;
      state = entry & ~kFlags;
      ++at;
    }
    if (found > before) scan.from = ends[found - 1];
    scan.at = at;
    scan.last = last;
    scan.state = state;
    if (found == room) return found;
    if (at == stop && at < end) {
      work_done(far);
      if (static_cast<size_t>(at - last) < far || look_far(scan)) continue;
    } else if (at < end) {
      const unsigned kind = kind_at(scan.at);
      entry = this->entry(state, kind);
      if (entry & kAsk) break;  // too much work
      if (!(entry & kStop)) {
        if constexpr (with_alternatives) {
          if (entry & (kHit | kNext)) {
            scan.alternative = made_alternative_;
            alternatives[found] = scan.alternative;
          }
        }
        ends[found] = at;
        if (entry & kNext) {
          ++found;
          scan.from = at;
        }
        if (entry & (kHit | kNext)) scan.last = at;
        scan.state = entry & ~kFlags;
        if (found == room) return found;
        continue;
      }
      if (entry & kHit) {
        scan.last = at;
        scan.alternative = made_alternative_;
      }
    } else if (!is_whole_) {
      if (scan.last == scan.from || static_cast<size_t>(end - scan.last) < kLookAround) return found;
    } else {
      entry = this->entry(state, width_ - 1);
      if (entry & kAsk) break;
      if (entry & kHit) {
        scan.last = end;
        scan.alternative = made_alternative_;
      }
    }
    if (scan.last == scan.from) {
      if (!searches_) break;
      (void)kind_at(scan.last);  // a character that is no match
      scan.last = skip_idle(scan.last, end);
      scan.alternative = 0;
    }
    if constexpr (with_alternatives) alternatives[found] = scan.alternative;
    ends[found++] = scan.last;
    if (scan.last == end || found == room) return found;
    scan = {scan.last, scan.last, scan.last, start_at(scan.last)};
  }
  has_failed_ = true;
  return found;
}

// Goes on with a scan that is far beyond its last match, and notes where it has been. Returns whether the scan is to go
// on; else its piece ends with the last match.
bool Matcher::look_far(Scan& scan) {
  const uint8_t* const begin = text_.data();
  const uint8_t* const end = begin + text_.size();
  const auto place_of = [&](const uint8_t* p) { return static_cast<uint64_t>(p - begin) >> kNoteBits; };
  uint64_t place = place_of(scan.at), forgotten = forgotten_;
  trail_.clear();
  while (scan.at < end) {
    if (place_of(scan.at) != place) {  // so for every scan the same characters are noted
      place = place_of(scan.at);
      const uint64_t key = place << 32 | scan.state;
      if (dead_.contains(key)) {
        note(dead_);
        return false;
      }
      if (open_.contains(key)) {
        note(open_);
        scan.at = end;
        return true;
      }
      trail_.push_back(key);
      work_done(size_t{1} << kNoteBits);
    }
    const uint8_t* p = scan.at;
    const Entry made = entry(scan.state, kind_at(p));
    if (made & kAsk) return true;
    if (forgotten_ != forgotten) trail_.clear();
    forgotten = forgotten_;
    if (made & (kHit | kNext)) {
      trail_.clear();
      scan.last = scan.at;
      scan.alternative = made_alternative_;
      if (made & (kNext | kStop)) return false;
    }
    if (made & kStop) {
      note(dead_);
      return false;
    }
    scan.state = made & ~kFlags;
    scan.at = p;
    if (made & kHit) return true;
  }
  if (!is_whole_) note(open_);
  else if (const Entry made = entry(scan.state, width_ - 1); !(made & (kHit | kAsk))) note(dead_);
  return true;
}

void Matcher::note(std::unordered_set<uint64_t, SeededHash>& seen) {
  if (seen.size() > kMostNotes) seen.clear();
  seen.insert(trail_.begin(), trail_.end());
}

// --- making states ---------------------------------------------------------------------------------------------------

// Returns the state in which a piece begins at p.
Matcher::Entry Matcher::start_at(const uint8_t* p) {
  unsigned kind = Program::kEdge;
  if (program_.looks_back() && p != text_.data()) {
    const uint8_t* before = previous_char(p, text_.data());
    kind = kind_at(before);
  }
  const unsigned context = program_.context_of(kind);
  if (starts_[context] == kAsk) {
    const Entry made = state_of(context, {static_cast<char16_t>(program_.start())});
    starts_[context] = made;  // after `state_of`, which may forget all of them
  }
  return starts_[context];
}

// Finds what a state does with a character, and keeps it in the tables. Returns kAsk where a text takes too much work.
Matcher::Entry Matcher::make_entry(Entry state, unsigned kind) {
  const std::u16string key = *keys_[state >> 8];
  const unsigned context = key[0];
  const bool is_end = kind + 1 == width_;
  const Advance ahead = advance(context, key.substr(1), is_end ? Program::kEdge : kind);
  if (work_ > most_work_) return kAsk;
  const unsigned next_context = is_end ? 0 : program_.context_of(kind);
  const uint64_t forgotten = forgotten_;
  Entry made = kStop | (ahead.alternative ? kHit : 0);
  if (!ahead.threads.empty()) {
    made = state_of(next_context, ahead.threads) | (ahead.alternative ? kHit : 0);
  } else if (ahead.alternative && !is_end) {
    const Advance next = advance(context, {static_cast<char16_t>(program_.start())}, kind);
    if (!next.threads.empty() && !next.alternative) made = state_of(next_context, next.threads) | kNext;
  }
  made_alternative_ = ahead.alternative;
  if (forgotten_ != forgotten) return made;  // the state itself is forgotten
  const size_t place = size_t{state >> 8} * width_ + kind;
  entries_[place] = made;
  alternatives_[place] = ahead.alternative;
  for (unsigned byte = 0; byte < 0x80 && !is_end; ++byte) {
    if (program_.class_of(byte) == kind) bytes_[state + byte] = made;
  }
  return made;
}

// Moves all threads over a character, in their order.
Matcher::Advance Matcher::advance(unsigned context, const std::u16string& threads, unsigned kind) {
  Advance out;
  waiting_.clear();  // what a call has left that found a match, or no memory
  const unsigned before = program_.example_of(context);
  if (++visit_ == 0) {  // after four billion calls the marks begin anew
    std::fill(visited_.begin(), visited_.end(), 0);
    visit_ = 1;
  }
  for (const char16_t thread : threads) {
    waiting_.push_back(thread);
    while (!waiting_.empty()) {
      const uint32_t number = waiting_.back();
      waiting_.pop_back();
      if (visited_[2 * number] == visit_) continue;
      visited_[2 * number] = visit_;
      ++work_;
      const ProgramStep& step = program_.steps()[number];
      switch (step.kind) {
        case ProgramStep::kTake:
          if (kind != Program::kEdge && program_.has(step.a, kind) && visited_[2 * step.c + 1] != visit_) {
            visited_[2 * step.c + 1] = visit_;
            out.threads.push_back(static_cast<char16_t>(step.c));
          }
          break;
        case ProgramStep::kFork:
          waiting_.push_back(step.b);
          waiting_.push_back(step.a);
          break;
        case ProgramStep::kCheck:
          if (program_.has(step.a, before) && program_.has(step.b, kind)) waiting_.push_back(step.c);
          break;
        default:
          out.alternative = static_cast<uint16_t>(step.a);
          return out;
      }
    }
  }
  return out;
}

// Returns the entry of a state without flags; makes the state where it is new. Where there is no memory for it, the tables
// are at most longer than they need to be.
Matcher::Entry Matcher::state_of(unsigned context, const std::u16string& threads) {
  std::u16string key(1, static_cast<char16_t>(context));
  key += threads;
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  if (keys_.size() == most_states_) forget();
  const size_t states = keys_.size() + 1;
  bytes_.resize(256 * states, kAsk);
  entries_.resize(width_ * states, kAsk);
  alternatives_.resize(width_ * states);
  const Entry number = static_cast<Entry>(keys_.size()) << 8;
  keys_.push_back(&numbers_.emplace(std::move(key), number).first->first);
  return number;
}

// Finds the classes of which no match begins with a character.
void Matcher::find_idle() {
  std::vector<uint8_t> idle;
  for (unsigned kind = 0; kind < program_.classes(); ++kind) {
    const Advance ahead = advance(0, {static_cast<char16_t>(program_.start())}, kind);
    idle.push_back(ahead.threads.empty());
  }
  for (unsigned byte = 0; byte < 0x80; ++byte) is_idle_byte_[byte] = idle[program_.class_of(byte)];
  idle_ = std::move(idle);
}

// Returns the first character from p on with which a match may begin.
const uint8_t* Matcher::skip_idle(const uint8_t* p, const uint8_t* end) const {
  while (p < end && !idle_.empty()) {
    while (p < end && is_idle_byte_[*p]) ++p;
    if (p == end || *p < 0x80) break;
    const uint8_t* after = p;
    const uint32_t code = next_char(after, end);
    if (!idle_[program_.class_of(code > 0x10FFFF ? 0xFFFD : code)]) break;
    p = after;
  }
  return p;
}

void Matcher::forget() {
  ++forgotten_;
  numbers_.clear();
  keys_.clear();
  bytes_.clear();
  entries_.clear();
  alternatives_.clear();
  starts_.assign(program_.contexts(), kAsk);
  dead_.clear();
  open_.clear();
}

}  // namespace tokcli
