// Records in one text: each with its separator, which its end is behind.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "text/text.h"

namespace tokcli {

// An added token in a text: its first and its past-the-end byte.
struct FoundToken {
  uint64_t begin, end, id;
};

// Calls visit(record), without its separator, for each record in a text. Throws std::invalid_argument, before the first call,
// where the ends of the records do not ascend within the text.
template <class Visit>
void visit_records(Bytes text, const std::vector<uint64_t>& ends, size_t separator_size, const Visit& visit) {
  uint64_t begin = 0;
  for (const uint64_t end : ends) {
    if (end < begin || end - begin < separator_size || end > text.size())
      throw std::invalid_argument("the ends of the records do not ascend within the text");
    begin = end;
  }
  begin = 0;
  for (const uint64_t end : ends) {
    visit(text.subspan(begin, end - begin - separator_size));
    begin = end;
  }
}

}  // namespace tokcli
