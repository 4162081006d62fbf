// Splitting alone: seconds of CPU time for the pieces of a file (cl100k's pattern), without keeping them. Built by where.py.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <vector>

#include "pretokenizers/pieces.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::vector<char> text(std::istreambuf_iterator<char>(file), {});
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  const uint8_t* const end = p + text.size();
  constexpr size_t kRoom = 256;
  const uint8_t* ends[kRoom + tokcli::kWindow];
  const tokcli::FindEnds find_ends = tokcli::finder(tokcli::Family::kCl100k, tokcli::instructions());
  size_t pieces = 0;
  const std::clock_t start = std::clock();
  while (p < end) {
    const size_t found = find_ends(p, end, ends, kRoom, nullptr);
    p = ends[found - 1];
    pieces += found;
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("%.9f %zu\n", seconds, pieces);
}
