// Tokens in rows of a screen, on request with the id of each below it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "views/glyphs.h"

namespace tokcli {

// Lays tokens out as `coloured_rows` and `plain_rows` of render/tokens.py do. With `codes`, the escape sequences that
// begin the colours, each token has a colour; without any, there is a boundary between two tokens. With `isolates`, what
// is written from right to left keeps its place in coloured rows.
class TokenRows {
 public:
  TokenRows(size_t width, bool has_ids, bool isolates, std::vector<std::string> codes);
  // Appends the rows that some more tokens complete: a text, where its tokens end, and their ids.
  void add(Bytes text, std::span<const uint64_t> ends, std::span<const uint32_t> ids, ByteBuffer* out);
  // Appends the last row.
  void finish(ByteBuffer* out);

 private:
  // The text of a token in one row, and its id in the first of its rows. `width` is that of its column.
  struct Cell {
    std::string text, id;
    Extent extent;
    size_t width;
    uint64_t number;
    bool ends_token;
  };
  void add_line(std::string* id, bool is_last, ByteBuffer* out);
  void end_row(ByteBuffer* out);
  void print_coloured(ByteBuffer* out) const;
  void print_plain(bool is_last, ByteBuffer* out) const;

  const size_t width_, gap_;
  const bool has_ids_, isolates_;
  const std::vector<std::string> codes_;
  std::vector<Cell> row_, held_;  // the open row; in plain rows also the one before, which may end with a boundary
  size_t used_ = 0;               // screen cells of the open row
  uint64_t number_ = 0;           // of the next token
  ByteBuffer shown_;              // a line of a token
};

}  // namespace tokcli
