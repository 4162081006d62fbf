// Hashing of images: see hash.h.
#include "base/hash.h"

#include <bit>
#include <chrono>
#include <random>

namespace tokcli {

uint64_t hash_lanes(Bytes data) {
  std::array<uint64_t, 4> lanes{0x9E3779B97F4A7C15u, 0xBF58476D1CE4E5B9u, 0x94D049BB133111EBu, data.size()};
  const uint8_t* p = data.data();
  size_t left = data.size();
  for (; left >= 32; p += 32, left -= 32) {
    for (size_t i = 0; i < 4; ++i) lanes[i] = mix(lanes[i] ^ read_word(p + 8 * i), 0xE7037ED1A0B428DBu);
  }
  for (; left > 0; ++p, --left) lanes[0] = mix(lanes[0] ^ *p, 0xA0761D6478BD642Fu);
  return mix(lanes[0] ^ lanes[1], lanes[2] ^ std::rotl(lanes[3], 17));
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
