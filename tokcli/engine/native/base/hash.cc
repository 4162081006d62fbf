// Hashing of images: see hash.h.
#include "base/hash.h"

#include <chrono>
#include <random>

namespace tokcli {

// (Profile: each start checks an image, of 10 MB as a rule. Eight lanes, not four, and asking for what is 2 KB ahead, which the
// processor does within a page only, take half the time where the image is in the system's cache.)
uint64_t hash_lanes(Bytes data) {
  constexpr size_t kLanes = 8, kAhead = 2048;
  std::array<uint64_t, kLanes> lanes;
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = mix(data.size() + i, 0x9E3779B97F4A7C15u);
  const uint8_t* p = data.data();
  size_t left = data.size();
  for (; left >= 8 * kLanes; p += 8 * kLanes, left -= 8 * kLanes) {
    __builtin_prefetch(p + kAhead);
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = mix(lanes[i] ^ read_word(p + 8 * i), 0xE7037ED1A0B428DBu);
  }
  uint64_t hash = data.size();
  for (; left > 0; ++p, --left) hash = mix(hash ^ *p, 0xA0761D6478BD642Fu);
  for (const uint64_t lane : lanes) hash = mix(hash ^ lane, 0xBF58476D1CE4E5B9u);
  return hash;
}

const Seed& process_seed() {
  static const Seed seed = [] {
    uint64_t random = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    random ^= reinterpret_cast<uintptr_t>(&random);  // where the stack is, for systems that give no random numbers
    Seed made{mix(random, 0xA0761D6478BD642Fu), mix(random, 0xE7037ED1A0B428DBu)};
    try {
      std::random_device device;
      const auto word = [&] { return uint64_t{device()} << 32 | device(); };
      made.low ^= word();
      made.high ^= word();
    } catch (const std::exception&) {  // no file may be opened, say
    }
    return made;
  }();
  return seed;
}

}  // namespace tokcli
