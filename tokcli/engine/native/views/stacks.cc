// Laying out rows: see stacks.h.
#include "views/stacks.h"

#include <algorithm>

#include "base/watch.h"
#include "text/utf8.h"
#include "views/token_lines.h"

namespace tokcli {
namespace {

constexpr size_t kMaxCluster = 32;              // MAX_CLUSTER
constexpr size_t kEndless = size_t{1} << 30;    // ENDLESS
constexpr size_t kNoSegment = SIZE_MAX;
constexpr size_t kBytesPerCell = 16;            // of text: hardly any has more

// A stretch of a line: where its text ends, the segment that colours it, and whether it is written from right to left.
struct Stretch {
  size_t end, segment;
  bool is_rtl;
};

struct Line {
  ByteBuffer text;
  std::vector<Stretch> stretches;
  size_t width = 0;

  void add(size_t segment, Extent extent) {
    stretches.push_back({text.size(), segment, extent.is_rtl});
    width += extent.width;
  }
  void add(std::string_view shown, size_t segment, Extent extent) {
    append(shown, &text);
    add(segment, extent);
  }
  void add_blanks(size_t count, size_t segment) {
    std::fill_n(text.reserve(count), count, ' ');
    text.commit(count);
    add(segment, {count});
  }
  void add(const Line& other) {
    const size_t begin = text.size();
    text.append(other.text);
    for (const Stretch& stretch : other.stretches)
      stretches.push_back({begin + stretch.end, stretch.segment, stretch.is_rtl});
  }
  void clear() {
    text.clear();
    stretches.clear();
    width = 0;
  }
};

}  // namespace

Track::Track(std::string given, std::span<const uint64_t> spans, uint64_t size) : label(std::move(given)) {
  size_t waiting = 0;  // tokens that cover no byte: of the next character, or what a normalizer inserted
  uint64_t at = 0;
  for (size_t i = 0; i + 1 < spans.size(); i += 2) {
    const uint64_t begin = spans[i], end = spans[i + 1];
    if (begin == end) {
      ++waiting;
    } else if (end <= at) {  // at the same place as the token before it
      ++tokens.back();
    } else {
      if (begin > at) {
        ends.push_back(begin);
        tokens.push_back(0);
      }
      ends.push_back(at = end);
      tokens.push_back(1 + waiting);
      waiting = 0;
    }
  }
  if (at < size) {
    ends.push_back(size);
    tokens.push_back(0);
  }
}

// The rows of a text from one place on: a column is made, and then joins the row.
class Stacks::Rows {
 public:
  Rows(const Stacks& stacks, Bytes text, size_t begin, ByteBuffer* out)
      : stacks_(stacks), text_(text), out_(out), at_(begin), row_(stacks.tracks_.size()),
        column_(stacks.tracks_.size()), next_(stacks.tracks_.size()), is_ended_(stacks.tracks_.size()) {
    for (size_t i = 0; i < next_.size(); ++i) {
      const std::vector<uint64_t>& ends = stacks.tracks_[i].ends;
      next_[i] = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    }
  }

  // Appends rows until they have `enough` bytes; returns where the next one begins.
  size_t print(size_t enough) {
    const size_t before = out_->size();
    const StackLook& look = stacks_.look_;
    Pace pace;
    size_t row_begin = at_, width = 0;
    while (at_ < text_.size()) {
      const size_t begin = at_;
      make_column(look.has_room ? look.room : kEndless);
      pace.step(at_ - begin);
      if (has_row_ && look.has_room && width + column_width_ > look.room) {
        print_row(row_begin > 0);
        row_begin = begin;
        width = 0;
        if (out_->size() - before >= enough) return begin;
      }
      for (size_t i = 0; i < row_.size(); ++i) row_[i].add(column_[i]);
      width += column_width_;
      has_row_ = true;
      if (text_[at_ - 1] == '\n') {
        print_row(row_begin > 0);
        row_begin = at_;
        width = 0;
        if (out_->size() - before >= enough) return at_;
      }
    }
    if (has_row_) print_row(row_begin > 0);
    return at_;
  }

 private:
  uint64_t end_of(size_t i) const { return stacks_.tracks_[i].ends[next_[i]]; }
  size_t tokens_of(size_t i) const { return stacks_.tracks_[i].tokens[next_[i]]; }

  // Makes the next column: the stretches of each line, its blanks, and the boundary after it.
  void make_column(size_t room) {
    const size_t size = text_.size();
    uint64_t cut = size;
    for (size_t i = 0; i < next_.size(); ++i) cut = std::min(cut, end_of(i));
    // A segment may be very long: what of it fits into a row is found in its beginning, if that is wider than the row.
    const size_t near = std::min(cut, at_ + 2 * kMaxCluster + kBytesPerCell * std::min(room, size));
    size_t end = column_end(at_, near);
    show(end);
    if (near < cut && extent_.width < room) show(end = column_end(at_, cut));
    if (extent_.width >= room) {  // a boundary may come after it
      if (const size_t some = fitting(text_.subspan(at_, end - at_), room - 1, kMaxCluster)) show(end = at_ + some);
    }
    column_width_ = 0;
    bool is_any_ended = false;
    for (size_t i = 0; i < column_.size(); ++i) {
      column_[i].clear();
      if (end_of(i) >= end) add_whole(i, end_of(i) == end);
      else add_cut(i, end, room);
      column_width_ = std::max(column_width_, column_[i].width);
      is_ended_[i] = end_of(i) == end && end < size;
      is_any_ended |= is_ended_[i];
    }
    for (size_t i = 0; i < column_.size(); ++i) {
      Line& line = column_[i];
      if (line.width < column_width_) line.add_blanks(column_width_ - line.width, line.stretches.back().segment);
      if (is_ended_[i]) {
        ++next_[i];
        line.add(kBoundary, kNoSegment, {1});
      } else if (is_any_ended) {
        line.add_blanks(1, tokens_of(i) ? next_[i] : kNoSegment);
      }
    }
    column_width_ += is_any_ended;
    at_ = end;
  }

  // Makes the visible text of the column that ends at `end`.
  void show(size_t end) {
    shown_.clear();
    extent_ = append_visible(text_.subspan(at_, end - at_), true, &shown_);
  }

  // Returns the end of the column that begins at `start`: at most `cut`, after a newline, never inside a character.
  size_t column_end(size_t start, size_t cut) const {
    const uint8_t *const text = text_.data(), *const last = text + text_.size();
    const auto* const newline = std::find(text + start, text + cut, '\n');
    if (newline != text + cut) return static_cast<size_t>(newline - text) + 1;
    for (size_t begin = cut; begin > start && cut - begin < 3;) {
      --begin;
      if (!begins_char(text[begin])) continue;
      const size_t size = character_size(text + begin, last);
      if (begin + size <= cut) break;
      return begin > start ? begin : begin + size;
    }
    return cut;
  }

  // Adds what a line has in a column with one segment of its encoding.
  void add_whole(size_t i, bool is_ended) {
    const size_t tokens = tokens_of(i);
    if (tokens == 0) return column_[i].add_blanks(extent_.width, kNoSegment);
    append(view_of({shown_.data(), shown_.size()}), &column_[i].text);
    Extent extent = extent_;
    if (tokens > 1 && is_ended) append_number("\u00D7", tokens, &column_[i].text, &extent);
    column_[i].add(next_[i], extent);
  }

  // Adds what a line has where several tokens cut a character: the bytes of each, or only their number.
  void add_cut(size_t i, size_t end, size_t room) {
    Line& line = column_[i];
    const size_t first = next_[i];
    size_t pieces = 0;
    for (size_t at = at_; at < end; ++pieces) {
      const size_t upto = std::min<size_t>(end_of(i), end);
      if (pieces > 0) line.add(kBoundary, kNoSegment, {1});
      const Extent extent = append_visible(text_.subspan(at, upto - at), true, &line.text);
      line.add(tokens_of(i) ? next_[i] : kNoSegment, extent);
      at = upto;
      if (at < end) ++next_[i];
    }
    if (line.width < room) return;
    line.clear();
    append(view_of({shown_.data(), shown_.size()}), &line.text);
    Extent extent = extent_;
    append_number("\u00F7", pieces, &line.text, &extent);
    line.add(first, extent);
  }

  static void append_number(std::string_view sign, size_t number, ByteBuffer* text, Extent* extent) {
    const std::string digits = std::to_string(number);
    append(sign, text);
    append(digits, text);
    extent->width += 1 + digits.size();
  }

  // Prints the row, after an empty line if it `is_next`, and clears it.
  void print_row(bool is_next) {
    if (is_next) append("\n", out_);
    for (size_t i = 0; i < row_.size(); ++i) {
      print_line(stacks_.tracks_[i].label, row_[i]);
      row_[i].clear();
    }
    has_row_ = false;
  }

  void print_line(std::string_view label, const Line& line) {
    const StackLook& look = stacks_.look_;
    size_t size = line.text.size();
    while (size > 0 && line.text.data()[size - 1] == ' ') --size;
    if (size == 0) label = label.substr(0, label.find_last_not_of(' ') + 1);
    print_stretch(label, look.label_code, false);
    size_t begin = 0;
    for (const Stretch& stretch : line.stretches) {
      const size_t end = std::min(stretch.end, size);
      if (begin >= end) continue;
      const std::string_view code =
          look.codes.empty() || stretch.segment == kNoSegment ? "" : std::string_view(look.codes[stretch.segment % look.codes.size()]);
      print_stretch(view_of({line.text.data() + begin, end - begin}), code, look.isolates && stretch.is_rtl);
      begin = end;
    }
    append("\n", out_);
  }

  void print_stretch(std::string_view text, std::string_view code, bool isolates) {
    if (text.empty()) return;
    append(code, out_);
    if (isolates) append(kIsolate, out_);
    append(text, out_);
    if (isolates) append(kPop, out_);
    if (!code.empty()) append(kColourEnd, out_);
  }

  const Stacks& stacks_;
  const Bytes text_;
  ByteBuffer* const out_;
  size_t at_;
  std::vector<Line> row_, column_;  // a line for each encoding
  std::vector<size_t> next_;        // the segment of each in which `at_` is
  std::vector<char> is_ended_;
  ByteBuffer shown_;  // the text of the column, and its extent
  Extent extent_;
  size_t column_width_ = 0;
  bool has_row_ = false;
};

size_t Stacks::append_rows(Bytes text, size_t begin, size_t enough, ByteBuffer* out) const {
  return Rows(*this, text, begin, out).print(enough);
}

}  // namespace tokcli
