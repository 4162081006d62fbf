// Looking through text: see text_check.h.
#include "text_check.h"

#include <algorithm>

#include "utf8.h"

namespace tokcli {
namespace {

constexpr size_t kBlock = 64;  // units that are looked at together
constexpr size_t kFew = 4;     // odd characters of ASCII that are compared with each unit; of more, each is looked up

// Text as units: the code point at a place, and where the next one begins.
template <class Unit>
struct Points {
  const Unit* units;
  size_t size;

  uint32_t next(size_t& at) const { return units[at++]; }
  bool stands_at(size_t at, const std::vector<uint32_t>& points, const std::string&, size_t* end) const {
    if (size - at < points.size()) return false;
    for (size_t i = 0; i < points.size(); ++i) {
      if (units[at + i] != points[i]) return false;
    }
    *end = at + points.size();
    return true;
  }
};

struct Utf8 {
  const uint8_t* units;
  size_t size;

  uint32_t next(size_t& at) const {
    const uint8_t* p = units + at;
    const uint32_t point = next_char(p, units + size);
    at = static_cast<size_t>(p - units);
    return point;
  }
  bool stands_at(size_t at, const std::vector<uint32_t>&, const std::string& utf8, size_t* end) const {
    if (!view_of({units + at, size - at}).starts_with(utf8)) return false;
    *end = at + utf8.size();
    return true;
  }
};

// Whether a block is ASCII without any of a few characters (compilers make wide instructions of this).
template <class Unit>
bool is_plain(const Unit* units, const std::array<Unit, kFew>& few) {
  Unit odd = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const Unit unit = units[i];
    odd |= static_cast<Unit>((unit >= 0x80) | (unit == few[0]) | (unit == few[1]) | (unit == few[2]) | (unit == few[3]));
  }
  return odd == 0;
}

template <class Unit>
bool is_plain(const Unit* units, const std::array<uint8_t, 128>& values) {
  uint8_t odd = 0;
  for (size_t i = 0; i < kBlock; ++i) odd |= units[i] >= 0x80 ? 1 : values[units[i]];
  return odd == 0;
}

}  // namespace

void TextCheck::add_token(Bytes utf8, uint32_t id) {
  if (utf8.empty()) return;
  Token token{{}, std::string(view_of(utf8)), id};
  for (const uint8_t *p = utf8.data(), *end = p + utf8.size(); p < end;) token.points.push_back(next_char(p, end));
  const uint32_t first = token.points[0];
  if (first < 128) {
    if (token.points.size() > 1 && token.points[1] < 128) pairs_[first].set(token.points[1]);
    else pairs_[first].set();
  }
  std::vector<Token>& those = tokens_[first];
  const auto is_longer = [&](const Token& other) { return other.points.size() >= token.points.size(); };
  those.insert(std::find_if_not(those.begin(), those.end(), is_longer), std::move(token));
}

void TextCheck::set_page(uint32_t page, const uint8_t* values) {
  if (page >= kPages) return;
  const std::lock_guard lock(mutex_);
  if (pages_[page].get() != nullptr) return;
  auto* made = new Page;
  std::copy_n(values, kPage, made->begin());
  if (page == 0) {
    std::copy_n(values, 128, ascii_.begin());
    for (uint8_t c = 0; c < 128; ++c) {
      if (values[c] != kPlain) odd_ascii_.push_back(c);
    }
  }
  pages_[page].page.store(made, std::memory_order_release);
}

void TextCheck::set_run(Bytes run, Bytes text, bool stops) {
  const std::lock_guard lock(runs_mutex_);
  if (runs_.size() >= kMostRuns) runs_.clear();
  runs_.insert_or_assign(std::string(view_of(run)), Run{std::string(view_of(text)), stops});
}

std::vector<uint32_t> TextCheck::take_wanted() {
  std::vector<uint32_t> pages;
  if (!is_wanting()) return pages;
  const std::lock_guard lock(mutex_);
  for (uint32_t page = 0; page < kPages; ++page) {
    if (wanted_[page]) pages.push_back(page);
  }
  wanted_.reset();
  is_wanting_ = false;
  return pages;
}

std::vector<std::string> TextCheck::take_wanted_runs() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> runs(wanted_runs_.begin(), wanted_runs_.end());
  wanted_runs_.clear();
  return runs;
}

uint8_t TextCheck::unknown(uint32_t point) const {
  const std::lock_guard lock(mutex_);
  wanted_.set(point < kPages * kPage ? point >> 8 : 0xFF);
  is_wanting_ = true;
  return kOdd;
}

template <class Reader>
const TextCheck::Token* TextCheck::token_at(const Reader& text, size_t at, size_t* end) const {
  if (text.units[at] < 128 && text.size - at > 1 && text.units[at + 1] < 128 &&
      !pairs_[text.units[at]][text.units[at + 1]])
    return nullptr;
  size_t behind = at;
  const auto those = tokens_.find(text.next(behind));
  if (those == tokens_.end()) return nullptr;
  for (const Token& token : those->second) {
    if (text.stands_at(at, token.points, token.utf8, end)) return &token;
  }
  return nullptr;
}

// Calls visit(begin, end, id) for what there is, until that says false.
template <class Reader, class Visit>
void TextCheck::look(const Reader& text, const Visit& visit) const {
  using Unit = std::remove_const_t<std::remove_pointer_t<decltype(text.units)>>;
  if (pages_[0].get() == nullptr) {  // that of ASCII is asked for first: `ascii_` has to be there
    unknown(0);
    visit(0, text.size, kCharacters);
    return;
  }
  std::array<Unit, kFew> few;
  few.fill(odd_ascii_.empty() ? 0x80 : odd_ascii_[0]);
  const bool are_few = odd_ascii_.size() <= kFew;
  for (size_t i = 0; are_few && i < odd_ascii_.size(); ++i) few[i] = odd_ascii_[i];

  size_t floor = 0;           // where the last token ended
  size_t last_plain = 0;      // a character that nothing behind it goes with, or `floor`
  uint8_t mark = 0;           // the class of the mark before
  for (size_t at = 0; at < text.size;) {
    if (text.size - at >= kBlock && (are_few ? is_plain(text.units + at, few) : is_plain(text.units + at, ascii_))) {
      at += kBlock;
      last_plain = at - 1;
      mark = 0;
      continue;
    }
    const size_t stop = text.size - at < kBlock ? text.size : at + kBlock;
    while (at < stop) {
      size_t next = at;
      const uint32_t point = text.next(next);
      const uint8_t kind = point < 0x80 ? ascii_[point] : value(point);
      if (kind == kPlain) [[likely]] {
        last_plain = at;
        at = next;
        mark = 0;
        continue;
      }
      size_t end;
      if (kind == kBegins || kind == kBoth) {
        if (const Token* token = token_at(text, at, &end)) {
          if (!visit(at, end, token->id)) return;
          at = floor = last_plain = end;
          mark = 0;
          continue;
        }
        if (kind == kBegins) {
          last_plain = at;
          at = next;
          mark = 0;
          continue;
        }
      } else if (kind < kLoose && kind >= mark) {
        mark = kind;
        at = next;
        continue;
      }
      bool is_odd = kind >= kBegins;
      for (end = next; end < text.size;) {  // with all that goes with it
        size_t behind = end, unused;
        const uint32_t other = text.next(behind);
        const uint8_t also = other < 0x80 ? ascii_[other] : value(other);
        if (also == kPlain || also == kBegins || (also == kBoth && token_at(text, end, &unused))) break;
        is_odd |= also > kBegins;
        end = behind;
      }
      if (!visit(std::max(last_plain, floor), end, is_odd ? kCharacters : kRun)) return;
      at = last_plain = floor = end;
      mark = 0;
    }
  }
}

template <class Visit>
void TextCheck::visit(const Text& text, const Visit& visit) const {
  if (text.size == 0) return;
  if (text.is_utf8) return look(Utf8{static_cast<const uint8_t*>(text.data), text.size}, visit);
  switch (text.unit) {
    case 1: return look(Points<uint8_t>{static_cast<const uint8_t*>(text.data), text.size}, visit);
    case 2: return look(Points<uint16_t>{static_cast<const uint16_t*>(text.data), text.size}, visit);
    default: return look(Points<uint32_t>{static_cast<const uint32_t*>(text.data), text.size}, visit);
  }
}

TextCheck::Verdict TextCheck::read(const Text& text, std::vector<uint8_t>& out) const {
  bool is_fine = true;
  size_t copied = 0;  // units of the text that are in `out`, or what became of them
  std::string run;
  const auto append = [&](size_t begin, size_t end) {
    const size_t size = out.size();
    out.resize(size + (end - begin) * kMostUtf8);
    if (text.is_utf8) {
      const Bytes part = text.part(begin, end).bytes();
      out.resize(static_cast<size_t>(std::copy(part.begin(), part.end(), out.begin() + static_cast<ptrdiff_t>(size)) - out.begin()));
      return true;
    }
    const size_t more = to_utf8(text.part(begin, end), out.data() + size);
    if (more != kSurrogate) out.resize(size + more);
    return more != kSurrogate;
  };
  out.clear();
  visit(text, [&](size_t begin, size_t end, uint32_t id) {
    uint8_t buffer[kMostRunBytes];
    if (id != kRun || (end - begin) * kMostUtf8 > sizeof buffer) {
      is_fine = false;
      return is_wanting();  // of all pages at once
    }
    const Text part = text.part(begin, end);
    const size_t size = part.is_utf8 ? part.size : to_utf8(part, buffer);
    if (size == kSurrogate) return is_fine = false;
    run.assign(part.is_utf8 ? static_cast<const char*>(part.data) : reinterpret_cast<const char*>(buffer), size);
    const std::shared_lock lock(runs_mutex_);
    const auto known = runs_.find(run);
    if (known == runs_.end()) {
      const std::lock_guard wanting(mutex_);
      wanted_runs_.insert(run);
      is_fine = false;
      return wanted_runs_.size() < kMostRuns;  // to ask for all at once
    }
    if (known->second.stops) return is_fine = false;
    if (!is_fine || known->second.text == run) return true;
    is_fine = append(copied, begin);
    out.insert(out.end(), known->second.text.begin(), known->second.text.end());
    copied = end;
    return is_fine;
  });
  if (!is_fine) return Verdict::kStops;
  if (copied == 0) return Verdict::kFine;
  return append(copied, text.size) ? Verdict::kRewritten : Verdict::kStops;
}

std::vector<TextCheck::Found> TextCheck::find(const Text& text) const {
  std::vector<Found> found;
  visit(text, [&](size_t begin, size_t end, uint32_t id) {
    const size_t floor = found.empty() ? 0 : found.back().end;
    if (id == kCharacters && end > floor) {
      begin = begin > floor ? floor + last_cut(text.part(floor, text.size), begin - floor) : floor;
      end = next_cut(text, end);
      if (!found.empty() && found.back().id == kCharacters && begin == floor) found.back().end = end;
      else found.push_back({begin, end, id});
    } else if (id < kRun) {
      found.push_back({begin, end, id});
    }
    return true;
  });
  return found;
}

}  // namespace tokcli
