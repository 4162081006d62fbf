// Laying out tokens: see token_rows.h.
#include "views/token_rows.h"

#include <algorithm>

#include "base/watch.h"
#include "text/utf8.h"
#include "views/token_lines.h"

namespace tokcli {
namespace {

constexpr size_t kMinWidth = 20;       // MIN_WIDTH
constexpr size_t kMostWidth = size_t{1} << 30;  // wider than any screen: what is computed of it stays a number

void append_blanks(size_t count, std::string* line) { line->append(count, ' '); }

void strip(std::string* line) { line->resize(line->find_last_not_of(' ') + 1); }

}  // namespace

TokenRows::TokenRows(size_t width, bool has_ids, bool isolates, std::vector<std::string> codes)
    : width_(std::clamp(width, kMinWidth, kMostWidth)), gap_(codes.empty()), has_ids_(has_ids), isolates_(isolates),
      codes_(std::move(codes)) {}

void TokenRows::add(Bytes text, std::span<const uint64_t> ends, std::span<const uint32_t> ids, ByteBuffer* out) {
  uint64_t begin = 0;
  Pace pace;
  for (size_t i = 0; i < ends.size(); ++i) {
    const uint64_t end = ends[i];
    pace.step(end - begin + 1);
    if (begin == end) continue;
    std::string id = has_ids_ ? std::to_string(ids[i]) : "";
    while (begin < end) {
      const Bytes rest = text.subspan(begin, end - begin);
      const auto newline = std::find(rest.begin(), rest.end(), '\n');
      const bool ends_line = newline != rest.end();
      begin += static_cast<uint64_t>(newline - rest.begin()) + ends_line;
      shown_.clear();
      append_visible({rest.begin(), newline}, true, &shown_);
      if (ends_line) append(kNewline, &shown_);
      add_line(&id, begin == end, out);
      if (ends_line) end_row(out);
    }
    ++number_;
  }
}

// Adds a visible line of a token to the rows: in stretches as wide as a row, in each of which marks stay with their base.
void TokenRows::add_line(std::string* id, bool is_last, ByteBuffer* out) {
  const size_t room = width_ - gap_;
  const size_t enough = (kMarksPerBase + 1) * (room + 1);  // characters
  const uint8_t *p = shown_.data(), *const end = p + shown_.size();
  while (p < end) {
    const uint8_t* const begin = p;
    Extent extent;
    for (size_t characters = 0; p < end && characters < enough; ++characters) {
      const uint8_t* next = p;
      const uint32_t point = next_char(next, end);
      const Glyph glyph = glyph_of(point);
      const size_t cells = glyph.width();
      if (extent.width + cells > room) break;
      extent.width += cells;
      extent.is_rtl |= glyph.is_rtl();
      p = next;
    }
    const size_t width = std::max(extent.width + gap_, id->empty() ? 0 : id->size() + 1);
    if (!row_.empty() && used_ + width > width_) end_row(out);
    used_ += width;
    row_.push_back({std::string(view_of({begin, p})), std::move(*id), extent, width, number_, is_last && p == end});
    id->clear();
  }
}

void TokenRows::end_row(ByteBuffer* out) {
  if (!codes_.empty()) {
    print_coloured(out);
  } else {
    if (!held_.empty()) print_plain(false, out);
    held_.swap(row_);
  }
  row_.clear();
  used_ = 0;
}

void TokenRows::finish(ByteBuffer* out) {
  if (!row_.empty()) end_row(out);
  if (!held_.empty()) print_plain(true, out);
  held_.clear();
}

void TokenRows::print_coloured(ByteBuffer* out) const {
  std::string ids;
  size_t blanks = 0;  // before the next text: those at the end are left out
  for (const Cell& cell : row_) {
    for (; blanks > 0; --blanks) append(" ", out);
    const bool isolates = isolates_ && cell.extent.is_rtl;
    std::string text = cell.text;
    if (&cell == &row_.back() && !isolates) strip(&text);  // among bytes that are not UTF-8 are spaces
    append(codes_[cell.number % codes_.size()], out);
    if (isolates) append(kIsolate, out);
    append(text, out);
    if (isolates) append(kPop, out);
    append(kColourEnd, out);
    blanks = cell.width - cell.extent.width;
    ids += cell.id;
    append_blanks(cell.width - std::min(cell.width, cell.id.size()), &ids);
  }
  append("\n", out);
  strip(&ids);
  if (!has_ids_ || ids.empty()) return;
  append(ids, out);
  append("\n", out);
}

// Prints the row that is held.
void TokenRows::print_plain(bool is_last, ByteBuffer* out) const {
  std::string texts, ids;
  bool has_id = false;
  for (size_t i = 0; i < held_.size(); ++i) {
    const Cell& cell = held_[i];
    if (i > 0) {
      texts += kBoundary;
      ids += kBoundary;
    }
    texts += cell.text;
    append_blanks(cell.width - 1 - cell.extent.width, &texts);
    ids += cell.id;
    append_blanks(cell.width - 1 - std::min(cell.width - 1, cell.id.size()), &ids);
    has_id |= !cell.id.empty();
  }
  const bool has_boundary = !is_last && held_.back().ends_token;
  for (std::string* line : {&texts, &ids}) {
    if (line == &ids && !has_id) break;
    if (has_boundary) *line += kBoundary;
    strip(line);
    append(*line, out);
    append("\n", out);
  }
}

}  // namespace tokcli
