// Batches of texts as Python gives them, and their ids as Python takes them.
#pragma once

#include <span>
#include <vector>

#include "module/gil.h"
#include "module/id_objects.h"
#include "pipeline/batch.h"

namespace tokcli {

// The texts in a list, which lives as long as they are read.
struct ListOfTexts {
  explicit ListOfTexts(nb::list given) : items(own_list(given)) {
    views.reserve(items.size());
    for (nb::handle text : items) views.push_back(text_of(text));
  }
  nb::list items;
  std::vector<Text> views;
};

// The ids of a batch, taken share by share, with the GIL: a list for each text, in which None stands for one that was refused;
// or all ids, and where those of each text begin and the last end (uint64), if none was refused.
class TakenShares {
 public:
  TakenShares(IntCache& ints, bool as_lists) : as_lists_(as_lists), lists_(ints) {}
  void add(std::span<BatchShare> ready) {
    for (BatchShare& share : ready) {
      const uint32_t* ids = share.ids.data();
      for (const size_t size : share.sizes) {
        const bool is_refused = size == kRefused;
        is_refused_ |= is_refused;
        if (!as_lists_) ends_.push_back(ends_.back() + (is_refused ? 0 : size));
        else if (is_refused) lists_.append_none();
        else lists_.append({ids, size});
        if (!is_refused) ids += size;
      }
      if (!as_lists_) ids_.append(share.ids);
      share.ids = IdBuffer();  // its memory serves the shares that other threads encode meanwhile
      check_signals();
    }
  }
  nb::object take() {
    if (as_lists_) return lists_.take();
    if (is_refused_) return nb::none();
    return tuple_of(nb::cast(std::move(ids_)), to_bytes(ends_));
  }

 private:
  const bool as_lists_;
  bool is_refused_ = false;
  IdLists lists_;
  IdBuffer ids_;
  std::vector<uint64_t> ends_{0};
};

}  // namespace tokcli
