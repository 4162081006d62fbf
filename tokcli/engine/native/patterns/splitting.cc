// Splitting text among bytes that are not UTF-8: see splitting.h.
#include "patterns/splitting.h"

#include <algorithm>
#include <array>

namespace tokcli {

bool split_invalid(const Splitting& by, Bytes data, size_t start, bool is_whole, std::vector<uint64_t>* ends, size_t some) {
  constexpr size_t kRoom = 64, kMostReserved = 1 << 17;
  std::array<const uint8_t*, kRoom + kWindow> found;
  size_t begin = 0;  // of the text that a pattern sees
  ends->reserve(std::min(std::min(some, data.size()) / 2, kMostReserved));
  InvalidReader reader(data, start, is_whole);
  for (size_t at = start; at < data.size() && at - start < some;) {
    const InvalidRun run = reader.next();
    if (run.is_open || run.bad == run.end) break;
    const uint8_t *p = data.data() + at, *const end = data.data() + run.bad;
    const bool has_text = p < end;
    // half of the texts among invalid bytes are a single byte, which every family has as a piece
    const bool is_one_piece = by.pattern == nullptr && end - p <= 1;
    const bool is_split = is_one_piece || with_finder(by, data.subspan(begin, run.bad - begin), [&](const auto& find) {
      while (p < end) {
        const size_t count = find(p, found.data(), kRoom);
        if (count == 0) break;
        for (size_t i = 0; i < count; ++i) ends->push_back(static_cast<uint64_t>(found[i] - data.data()) - start);
        p = found[count - 1];
      }
    });
    if (!is_split || (p < end && !is_one_piece)) return false;
    if (has_text && !is_one_piece) ends->pop_back();
    ends->push_back(run.end - start);
    begin = at = run.end;
  }
  return true;
}

}  // namespace tokcli
