// Growing: see id_buffer.h.
#include "base/id_buffer.h"

#include <algorithm>
#include <new>

namespace tokcli {

void* grown(void* data, size_t size, size_t more, size_t item_size, size_t* capacity) {
  const size_t most = SIZE_MAX / 4 / item_size;
  if (more > most || size > most) throw std::bad_alloc();
  const size_t wanted = std::max(size + more, *capacity + *capacity / 2 + 1024);
  void* const made = std::realloc(data, wanted * item_size);
  if (made == nullptr) throw std::bad_alloc();
  *capacity = wanted;
  return made;
}

}  // namespace tokcli
