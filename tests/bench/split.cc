// Splitting alone: seconds of CPU time for the pieces of a file (cl100k's pattern), without keeping any. Built by where.py.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <vector>

#include "scan.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::vector<char> text(std::istreambuf_iterator<char>(file), {});
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  const uint8_t* const end = p + text.size();
  size_t pieces = 0;
  const std::clock_t start = std::clock();
  for (; p < end; ++pieces) p = tokcli::piece_end<tokcli::Family::kCl100k>(p, end);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("%.9f %zu\n", seconds, pieces);
}
