// Growing: see id_buffer.h.
#include "base/id_buffer.h"

#include <algorithm>
#include <new>

#include "base/memory.h"

namespace tokcli {

void* grown(void* data, size_t size, size_t more, size_t item_size, size_t* capacity) {
  const size_t most = SIZE_MAX / 4 / item_size;
  if (more > most || size > most) throw std::bad_alloc();
  const size_t wanted = std::max(size + more, *capacity + *capacity / 2 + 1024);
  void* const made = std::realloc(data, wanted * item_size);
  if (made == nullptr) throw std::bad_alloc();
  *capacity = wanted;
  // the buffer is written once from end to end: in large pages the system is asked for a page 500 times less often
  use_large_pages(made, wanted * item_size);
  return made;
}

}  // namespace tokcli
