// Growing, and what is kept for the next buffer: see id_buffer.h.
#include "base/id_buffer.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace tokcli {
namespace {

constexpr size_t kLeastKept = size_t{1} << 20, kMostKept = size_t{1} << 25;  // bytes

// A block that is kept begins with its size. It may be lost to a child that is forked while it is taken or given back: that
// allocates one.
std::atomic<void*> kept{nullptr};

void keep(void* block, size_t bytes) {
  std::memcpy(block, &bytes, sizeof bytes);
  std::free(kept.exchange(block, std::memory_order_acq_rel));
}

struct Block {
  void* at = nullptr;
  size_t bytes = 0;
};

// Returns the block that is kept if it has at least `wanted` bytes, and at most twice as many; else none.
Block take_kept(size_t wanted) {
  if (wanted < kLeastKept || wanted > kMostKept) return {};
  void* const at = kept.exchange(nullptr, std::memory_order_acq_rel);
  if (at == nullptr) return {};
  size_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  if (bytes >= wanted && bytes <= 2 * wanted) return {at, bytes};
  keep(at, bytes);
  return {};
}

}  // namespace

void* grown(void* data, size_t size, size_t more, size_t item_size, size_t* capacity) {
  const size_t most = SIZE_MAX / 4 / item_size;
  if (more > most || size > most) throw std::bad_alloc();
  const size_t wanted = std::max(size + more, *capacity + *capacity / 2 + 1024);
  Block made = data == nullptr ? take_kept(wanted * item_size) : Block{};
  if (made.at == nullptr) made = {std::realloc(data, wanted * item_size), wanted * item_size};
  if (made.at == nullptr) throw std::bad_alloc();
  *capacity = made.bytes / item_size;
  return made.at;
}

void give_back(void* data, size_t bytes) noexcept {
  if (data != nullptr && bytes >= kLeastKept && bytes <= kMostKept) keep(data, bytes);
  else std::free(data);
}

}  // namespace tokcli
