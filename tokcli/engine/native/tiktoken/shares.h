// Batches of texts that threads share: each takes some texts in a row, and their ids are taken in order while others are made.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/id_buffer.h"
#include "base/threads.h"
#include "text/text.h"
#include "tiktoken/encoder.h"

namespace tokcli {

// Some texts of a batch, in a row, which one thread encodes.
struct alignas(kCacheLine) BatchShare {
  static constexpr size_t kRefused = SIZE_MAX;  // stands for the number of ids where a text is refused
  IdBuffer ids;                // of all texts, one after another
  std::vector<size_t> sizes;   // the number of ids of each text, or kRefused
  Result failure;              // the result of the text at which encoding stopped, if it did
  size_t failed = 0;           // the number of that text in the batch
};

// Returns how many of at most `threads` threads are worth their start for so many bytes of text.
size_t thread_count(int threads, size_t bytes);
size_t bytes_of_all(std::span<const Text> texts);
// Divides texts into `count` runs of about as many bytes each, and returns the number of the text after each run.
std::vector<size_t> run_ends(std::span<const Text> texts, size_t bytes, size_t count);

// Appends the ids of a text and says what came of it; returns false where the text is refused, and has no ids.
using EncodeText = std::function<bool(const Text&, IdBuffer*, Result*)>;
// Makes such a function for one thread, of several or not.
using MakeEncodeText = std::function<EncodeText(bool of_several)>;
using TakeShares = std::function<void(std::span<BatchShare>)>;

// Encodes texts in at most `threads` threads, in shares of about as many bytes. `take` is called in this thread with the
// shares that are ready while other threads encode further ones: each share once, in their order, up to the first that
// has failed.
std::vector<BatchShare> encode_in_shares(std::span<const Text> texts, int threads, const MakeEncodeText& make,
                                         const TakeShares& take);

}  // namespace tokcli
