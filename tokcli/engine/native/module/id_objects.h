// Ids as Python's objects: lists of int, the buffers that native code gives and takes, and tables of tokens.
#pragma once

#include <memory>
#include <vector>

#include "bpe/vocabulary.h"
#include "module/id_list.h"
#include "module/python_views.h"

namespace tokcli {

// The ids (uint32) in a buffer, which do not change while they are read: those of some objects and of memoryviews of these
// never do, and those of any other object are copied, since another thread may write to it as soon as the GIL is released.
class IdsView {
 public:
  explicit IdsView(nb::handle object) {
    if (never_changes(owner_of(object))) {
      view_ = std::make_unique<BufferView>(object);
      const Bytes bytes = view_->bytes();
      const bool is_aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint32_t) == 0;
      if (bytes.size() % sizeof(uint32_t) == 0 && is_aligned) {
        items_ = {reinterpret_cast<const uint32_t*>(bytes.data()), bytes.size() / sizeof(uint32_t)};
        return;
      }
    }
    copy_ = items_of<uint32_t>(object);
    items_ = copy_;
  }
  IdsView(const IdsView&) = delete;
  IdsView& operator=(const IdsView&) = delete;
  std::span<const uint32_t> items() const { return items_; }
  const uint32_t* data() const { return items_.data(); }
  size_t size() const { return items_.size(); }

 private:
  std::unique_ptr<BufferView> view_;
  std::vector<uint32_t> copy_;
  std::span<const uint32_t> items_;
};

// Tokens as Python gives them: their bytes in a row, a size and an id (uint32) for each.
struct TokenTable {
  // Sizes are uint8 or uint32. ValueError where there are not as many sizes as ids, or they do not add up to the bytes.
  TokenTable(nb::handle blob, nb::handle given_sizes, nb::handle given_ids) : bytes(blob) {
    const std::vector<uint32_t> ids = items_of<uint32_t>(given_ids);
    const size_t size_bytes = BufferView(given_sizes).bytes().size();
    std::vector<uint32_t> sizes;
    if (size_bytes == ids.size()) {
      const std::vector<uint8_t> small = items_of<uint8_t>(given_sizes);
      sizes.assign(small.begin(), small.end());
    } else {
      sizes = items_of<uint32_t>(given_sizes);
    }
    if (sizes.size() != ids.size())
      throw nb::value_error("each token needs a size (uint8 or uint32) and an id (uint32)");
    tokens.reserve(ids.size());
    size_t at = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (sizes[i] > bytes.bytes().size() - at) throw nb::value_error("the sizes do not add up to the bytes");
      tokens.push_back({bytes.bytes().data() + at, ids[i], sizes[i]});
      at += sizes[i];
    }
    if (at != bytes.bytes().size()) throw nb::value_error("the sizes do not add up to the bytes");
  }

  StableView bytes;           // what the tokens point into
  std::vector<Token> tokens;
};

}  // namespace tokcli
