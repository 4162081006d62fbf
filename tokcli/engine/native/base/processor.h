// Which instructions this processor has. Results never depend on them; a test may ask for fewer than there are.
#pragma once

#include <cstdint>

namespace tokcli {

// kPortable is plain C++, which every processor but x86-64 runs. Each of the others includes those before it.
enum class Instructions : uint8_t { kPortable, kSse2, kAvx2, kAvx512 };

// Returns the best instructions that the processor has and the limit allows.
Instructions instructions();
// Sets the limit for all work that begins from now on.
void limit_instructions(Instructions most);

}  // namespace tokcli
