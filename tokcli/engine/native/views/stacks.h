// One text under several encodings: rows of aligned lines, as `stack_lines` of render/stacks lays them out. grid.py
// there is the twin of this and says what grid columns and segments are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "views/glyphs.h"

namespace tokcli {

// The segments of one encoding: where each ends, the last one at the end of the text, and how many tokens it has.
struct Track {
  // Makes the segments of a text of `size` bytes from the span of each token, as `segments` of grid.py does. `label` is
  // what the lines begin with.
  Track(std::string label, std::span<const uint64_t> spans, uint64_t size);
  std::string label;
  std::vector<uint64_t> ends;
  std::vector<size_t> tokens;
};

// How rows look: their width in screen cells, and the escape sequences with which colours begin, none of them for lines
// without colours. With `isolates`, what is written from right to left keeps its place.
struct StackLook {
  size_t room;
  bool has_room;  // else only newlines end a row
  std::string label_code;
  std::vector<std::string> codes;
  bool isolates;
};

class Stacks {
 public:
  Stacks(std::vector<Track> tracks, StackLook look) : tracks_(std::move(tracks)), look_(std::move(look)) {}

  // Appends rows of a text, from the one that begins at byte `begin` on, until they have `enough` bytes or the text ends.
  // Returns where the next row begins.
  size_t append_rows(Bytes text, size_t begin, size_t enough, ByteBuffer* out) const;

 private:
  class Rows;
  std::vector<Track> tracks_;
  StackLook look_;
};

}  // namespace tokcli
