// The Python module `_native`. Only the files of this folder include Python.h: they check arguments, release the GIL
// and make Python's objects; all else is computed in the other folders (tiktoken/encoder.h has a map of them). The two
// classes with most methods, Vocabulary and TextModel, are in classes/.
#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>
#include <new>

#include "base/fork.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/processor.h"
#include "bpe/vocabulary.h"
#include "models/text_image.h"
#include "module/bindings.h"
#include "pretokenizers/families.h"

namespace nb = nanobind;

namespace {

// Memory for Python to end a run that has none left. When an error leaves a `with`, CPython (3.11 and later) makes an int,
// and where that fails it tries again without end (ceval, exception_unwind). So a part of the address space is kept,
// and given back when a small allocation fails: that one fails still, and the next ones do not. (Large ones are no reason:
// what asks for many megabytes often only wants to know whether they are there.)
constexpr size_t kSpareBytes = size_t{1} << 22, kSmallBytes = size_t{1} << 16;
std::atomic<void*> spare{nullptr};
PyMemAllocatorEx python_allocator;

void* checked(void* made, size_t size) {
  if (made == nullptr && size <= kSmallBytes) {
    if (void* const kept = spare.exchange(nullptr)) tokcli::release(kept, kSpareBytes);
  }
  return made;
}
void* allocate(void*, size_t size) { return checked(python_allocator.malloc(python_allocator.ctx, size), size); }
void* allocate_zeros(void*, size_t count, size_t size) {
  return checked(python_allocator.calloc(python_allocator.ctx, count, size), count * size);  // no overflow: checked before
}
void* resize(void*, void* p, size_t size) { return checked(python_allocator.realloc(python_allocator.ctx, p, size), size); }
void free_memory(void*, void* p) { python_allocator.free(python_allocator.ctx, p); }

void keep_spare_memory() {
  if (python_allocator.malloc != nullptr) return;
  try {
    spare = tokcli::allocate(kSpareBytes);
  } catch (const std::bad_alloc&) {  // then there is none
    return;
  }
  PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &python_allocator);
  PyMemAllocatorEx ours{nullptr, allocate, allocate_zeros, resize, free_memory};
  PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &ours);
}

}  // namespace

NB_MODULE(_native, module) {
  // What is made once is made now: a fork could come while another thread makes it.
  tokcli::prepare_locks();
  tokcli::process_seed();
  tokcli::instructions();
  module.doc() = "tokcli's native backend.";
  nb::set_leak_warnings(false);  // objects that live until the interpreter ends are no concern of a user
  module.attr("IMAGE_VERSION") = tokcli::kImageVersion;
  module.attr("TEXT_IMAGE_VERSION") = tokcli::kTextImageVersion;
  nb::list families;
  for (const char* name : tokcli::kFamilyNames) families.append(name);
  module.attr("FAMILIES") = nb::tuple(families);
  module.def("end_when_files_are_cut", &tokcli::end_when_files_are_cut);
  module.def("keep_freed_memory", &tokcli::keep_freed_memory);
  module.def("keep_spare_memory", &keep_spare_memory);
  bind_ids(module);  // before the others, whose functions return Ids
  bind_text(module);
  bind_vocabulary(module);
  bind_merges(module);
  bind_text_models(module);
  bind_views(module);
  bind_training(module);
  tokcli::prepare_to_throw();
}
