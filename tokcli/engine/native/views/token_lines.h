// Text in lines that show where one token ends and the next begins.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "views/glyphs.h"

namespace tokcli {

// What was printed before: how many tokens that are not empty, and whether the last of them ended its line.
struct TokenPlace {
  uint64_t number = 0;
  bool ended_line = false;
};

// Appends the lines of a text whose tokens end at `ends`, as `coloured_boundaries` and `plain_boundaries` of
// render/tokens.py do. Colours begin with the escape sequences `codes`, one token after the other; without any, there is
// a boundary between two tokens. The last line has no newline. Returns the place of what is printed next.
TokenPlace append_token_lines(Bytes text, std::span<const uint64_t> ends, std::span<const std::string> codes, bool spaces,
                              TokenPlace place, ByteBuffer* out);

constexpr std::string_view kColourEnd = "\x1b[0m", kBoundary = "\u2502", kNewline = "\u23CE";
// Around what is written from right to left, so that it keeps its place: FIRST STRONG ISOLATE, POP DIRECTIONAL ISOLATE.
constexpr std::string_view kIsolate = "\u2068", kPop = "\u2069";

}  // namespace tokcli
