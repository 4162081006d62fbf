// Which instructions this processor has. Results never depend on them; a test may ask for fewer than there are.
#pragma once

#include <cstdint>

// What may be written in instructions of x86-64: those that each of its processors has, and those that only
// `instructions()` allows. TOKCLI_PORTABLE (an option of CMakeLists.txt) leaves plain C++.
#if !defined(TOKCLI_PORTABLE) && defined(__SSE2__)
#define TOKCLI_SSE2 1
#endif
#if !defined(TOKCLI_PORTABLE) && defined(__x86_64__) && defined(__GNUC__)
#define TOKCLI_AVX 1
#endif

namespace tokcli {

// kPortable is plain C++, which every processor but x86-64 runs. Each of the others includes those before it;
// kAvx512 has VBMI2, as processors since 2019 do.
enum class Instructions : uint8_t { kPortable, kSse2, kAvx2, kAvx512 };

// Returns the best instructions that the processor has and the limit allows.
Instructions instructions();
// Sets the limit for all work that begins from now on.
void limit_instructions(Instructions most);

}  // namespace tokcli
