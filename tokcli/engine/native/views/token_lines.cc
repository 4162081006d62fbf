// Printing tokens: see token_lines.h.
#include "views/token_lines.h"

#include <algorithm>

#include "base/watch.h"

namespace tokcli {

TokenPlace append_token_lines(Bytes text, std::span<const uint64_t> ends, std::span<const std::string> codes, bool spaces,
                              TokenPlace place, ByteBuffer* out) {
  uint64_t begin = 0;
  Pace pace;
  for (const uint64_t end : ends) {
    pace.step(end - begin + 1);
    if (begin == end) continue;
    if (codes.empty() && place.number > 0) append(kBoundary, out);
    while (begin < end) {
      if (place.ended_line) append("\n", out);  // only now: a boundary may come before it
      const Bytes rest = text.subspan(begin, end - begin);
      const auto newline = std::find(rest.begin(), rest.end(), '\n');
      place.ended_line = newline != rest.end();
      if (!codes.empty()) append(codes[place.number % codes.size()], out);
      append_visible({rest.begin(), newline}, spaces, out);
      if (place.ended_line) append(kNewline, out);
      if (!codes.empty()) append(kColourEnd, out);
      begin += static_cast<uint64_t>(newline - rest.begin()) + place.ended_line;
    }
    ++place.number;
  }
  return place;
}

}  // namespace tokcli
