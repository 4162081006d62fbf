// A stand-in for libFuzzer, for compilers that have none: inputs are changed, and those that reach new code are changed
// again. An input at which the program ends is left in the current folder as `found-input`.
//
//     target SECONDS [FILE...]      runs the files first; TOKCLI_FUZZ_SEED begins another order of changes
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

#include "texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kShort = 200;  // most inputs are cut to so many bytes, which are enough for most code

Bytes input;
uint8_t reached[1 << 16];  // places in the code, by the low bits of their addresses
bool is_new = false;

void keep_input(int signal) {
  const int file = open("found-input", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0 && write(file, input.data(), input.size()) >= 0) close(file);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void change(Bytes& bytes, const std::vector<Bytes>& corpus, std::mt19937& random) {
  const auto below = [&](size_t limit) { return random() % limit; };
  const size_t at = below(bytes.size() + 1);
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(6)) {
    case 0: bytes.insert(place, static_cast<uint8_t>(random())); break;
    case 1: if (at < bytes.size()) bytes.erase(place); break;
    case 2: if (at < bytes.size()) *place = static_cast<uint8_t>(random()); break;
    case 3: if (at < bytes.size()) *place ^= static_cast<uint8_t>(1u << below(8)); break;
    case 4: {
      const std::string_view atom = kAtoms[below(std::size(kAtoms))];
      bytes.insert(place, atom.begin(), atom.end());
      break;
    }
    default: {  // a part of another one
      const Bytes& other = corpus[below(corpus.size())];
      const size_t from = below(other.size() + 1), size = below(std::min<size_t>(other.size() - from, 40) + 1);
      const auto first = other.begin() + static_cast<std::ptrdiff_t>(from);
      bytes.insert(place, first, first + static_cast<std::ptrdiff_t>(size));
    }
  }
}

}  // namespace

// Is called at every branch of the code that was compiled with -fsanitize-coverage=trace-pc.
extern "C" __attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc() {
  uint8_t& place = reached[reinterpret_cast<uintptr_t>(__builtin_return_address(0)) % sizeof reached];
  if (place) return;
  place = 1;
  is_new = true;
}

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  std::signal(SIGABRT, keep_input);
  std::vector<Bytes> corpus;
  for (int i = 2; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) corpus.emplace_back(64);
  for (const Bytes& whole : corpus) LLVMFuzzerTestOneInput((input = whole).data(), whole.size());
  const char* const seed = std::getenv("TOKCLI_FUZZ_SEED");
  std::mt19937 random(seed ? static_cast<unsigned>(std::atoi(seed)) : 1);
  size_t runs = corpus.size();
  const Clock::time_point end = Clock::now() + std::chrono::seconds(count > 1 ? std::atoi(arguments[1]) : 1);
  for (; Clock::now() < end; ++runs) {
    input = corpus[random() % corpus.size()];
    for (size_t changes = 1 + random() % 8; changes > 0; --changes) change(input, corpus, random);
    if (random() % 16 && input.size() > kShort) input.resize(kShort);
    is_new = false;
    LLVMFuzzerTestOneInput(input.data(), input.size());
    if (is_new) corpus.push_back(input);
  }
  const auto places = std::count(std::begin(reached), std::end(reached), 1);
  std::printf("%zu inputs, %td places in the code\n", runs, places);
}
