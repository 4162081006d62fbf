// A stand-in for libFuzzer, for compilers that have none: changed inputs without looking at coverage.
//
//     target SECONDS [FILE...]      runs the files first, then what comes of changing them
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<uint8_t>> corpus;
  for (int i = 2; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) corpus.emplace_back(64);
  for (const auto& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
  size_t runs = corpus.size();
  std::mt19937 random(1);
  const auto below = [&](size_t limit) { return random() % limit; };
  const Clock::time_point end = Clock::now() + std::chrono::seconds(count > 1 ? std::atoi(arguments[1]) : 1);
  for (; Clock::now() < end; ++runs) {
    std::vector<uint8_t> input = corpus[below(corpus.size())];
    for (size_t changes = 1 + below(8); changes > 0; --changes) {
      const size_t at = below(input.size() + 1);
      const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
      switch (below(4)) {
        case 0: input.insert(place, static_cast<uint8_t>(random())); break;
        case 1: if (at < input.size()) input.erase(place); break;
        case 2: if (at < input.size()) *place = static_cast<uint8_t>(random()); break;
        default: {  // a part of another one
          const auto& other = corpus[below(corpus.size())];
          const size_t from = below(other.size() + 1), size = below(std::min<size_t>(other.size() - from, 40) + 1);
          const auto first = other.begin() + static_cast<std::ptrdiff_t>(from);
          input.insert(place, first, first + static_cast<std::ptrdiff_t>(size));
        }
      }
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu inputs\n", runs);
}
