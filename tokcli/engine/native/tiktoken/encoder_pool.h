// One vocabulary and encoders for any number of threads: whole texts in parallel, batches of texts, and records.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/worker_pool.h"
#include "text/text_check.h"
#include "tiktoken/encoder.h"

namespace tokcli {

// What came of texts that a TextCheck was asked about first.
struct Outcome {
  Result result;            // of all texts, or of the first one at which encoding stopped
  size_t failed = 0;        // the number of that text
  bool is_refused = false;  // the check does not hold for a text, and there are no ids
};

// Some texts of a batch, in a row, which one thread encodes.
struct alignas(kCacheLine) BatchShare {
  static constexpr size_t kRefused = SIZE_MAX;  // stands for the number of ids where the check does not hold
  IdBuffer ids;                // of all texts, one after another
  std::vector<size_t> sizes;   // the number of ids of each text, or kRefused
  Result failure;              // the result of the text at which encoding stopped, if it did
  size_t failed = 0;           // the number of that text in the batch
};

class EncoderPool : public WorkerPool<Encoder, const Vocabulary&> {
 public:
  using WorkerPool::WorkerPool;

  // Appends the ids of a text to `out`, or only counts them where it is null, in at most `threads` threads. A check
  // (null for none) is asked first, and may rewrite the text.
  Outcome encode(const Splitting& by, const Text& text, int threads, const TextCheck* check, IdBuffer* out);

  // Does so in this thread with a text of which a list is made: part by part, so that the ids need little memory. After each
  // part but the last, `take` is called to take its ids out of `out`, with an estimate of how many there are in all.
  using TakeIds = std::function<void(size_t)>;
  Outcome encode_parts(const Splitting& by, const Text& text, const TextCheck* check, IdBuffer* out, const TakeIds& take);

  // Does as `encode` with the texts of a batch, one after another, and writes the number of ids of each to `sizes`.
  Outcome encode_batch(const Splitting& by, std::span<const Text> texts, int threads, const TextCheck* check, IdBuffer* out,
                       size_t* sizes);

  // Encodes texts in at most `threads` threads, in shares of about as many bytes. `take` is called in this thread with the
  // shares that are ready while other threads encode further ones: each share once, in their order, up to the first that
  // has failed.
  using TakeShares = std::function<void(std::span<BatchShare>)>;
  std::vector<BatchShare> encode_shares(const Splitting& by, std::span<const Text> texts, int threads, const TextCheck* check,
                                        const TakeShares& take);
};

}  // namespace tokcli
