// Batches of texts that threads share: each takes some texts in a row, and their ids are taken in order while others are made.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/id_buffer.h"
#include "base/threads.h"
#include "text/text.h"

namespace tokcli {

constexpr size_t kRefused = SIZE_MAX;  // stands for the number of ids where a text is refused

// Some texts of a batch, in a row, which one thread encodes.
struct alignas(kCacheLine) BatchShare {
  IdBuffer ids;               // of all texts, one after another
  std::vector<size_t> sizes;  // the number of ids of each text, or kRefused
};

// Appends the ids of a text and returns their number; returns kRefused, and appends nothing, where the text is refused.
using EncodeText = std::function<size_t(const Text&, IdBuffer*)>;
// Makes such a function for one thread, of several or not.
using MakeEncodeText = std::function<EncodeText(bool of_several)>;
using TakeShares = std::function<void(std::span<BatchShare>)>;

// Encodes texts in at most `threads` threads, in shares of about as many bytes. `take` is called in this thread with the
// shares that are ready while other threads encode further ones: each share once, in their order.
void encode_in_shares(std::span<const Text> texts, size_t threads, const MakeEncodeText& make, const TakeShares& take);

}  // namespace tokcli
