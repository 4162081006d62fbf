// The Python module `_native`. Only the files of this folder include Python.h: they check arguments, release the GIL
// and make Python's objects; all else is computed in the other folders (tiktoken/encoder.h has a map of them).
#include <nanobind/nanobind.h>

#include <exception>

#include "base/fork.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/processor.h"
#include "bpe/vocabulary.h"
#include "models/text_image.h"
#include "module/bindings.h"
#include "pretokenizers/families.h"

namespace nb = nanobind;

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
  bind_ids(module);  // before the others, whose functions return Ids
  bind_text(module);
  bind_vocabulary(module);
  bind_merges(module);
  bind_text_models(module);
  bind_views(module);
  bind_training(module);
  tokcli::prepare_to_throw();
}
