// Asking the processor what it can do: see processor.h.
#include "base/processor.h"

#include <algorithm>
#include <atomic>

namespace tokcli {
namespace {

Instructions detect() {
#if defined(TOKCLI_AVX)
  const bool has_bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (!has_bits || !__builtin_cpu_supports("avx2")) return Instructions::kSse2;
  const bool has_wide = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
  return has_wide ? Instructions::kAvx512 : Instructions::kAvx2;
#else
  return Instructions::kPortable;
#endif
}

std::atomic<Instructions> limit{Instructions::kAvx512};

}  // namespace

Instructions instructions() {
  static const Instructions best = detect();
  return std::min(best, limit.load(std::memory_order_relaxed));
}

void limit_instructions(Instructions most) { limit = most; }

}  // namespace tokcli
