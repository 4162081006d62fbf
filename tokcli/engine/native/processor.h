// Which instructions this processor has. The same answers come from all of them; a test may ask for less than there is.
#pragma once

#include <cstdint>

namespace tokcli {

// kPortable is plain C++, and what other processors than x86-64 run.
enum class Instructions : uint8_t { kPortable, kSse2, kAvx2, kAvx512 };

// The best that there is, up to the limit.
Instructions instructions();
// Sets the limit for what begins from now on.
void limit_instructions(Instructions most);

}  // namespace tokcli
