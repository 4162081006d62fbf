// One vocabulary and encoders for any number of threads: whole texts in parallel, batches of texts, and records.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/worker_pool.h"
#include "tiktoken/encoder.h"
#include "tiktoken/shares.h"

namespace tokcli {

// What came of texts.
struct Outcome {
  Result result;      // of all texts, or of the first one at which encoding stopped
  size_t failed = 0;  // the number of that text
};

class EncoderPool : public WorkerPool<Encoder, const Vocabulary&> {
 public:
  using WorkerPool::WorkerPool;

  // Appends the ids of a text to `out`, or only counts them where it is null, in at most `threads` threads.
  Outcome encode(const Splitting& by, const Text& text, int threads, IdBuffer* out);

  // Does so in this thread with a text of which a list is made: part by part, so that the ids need little memory. After each
  // part but the last, `take` is called to take its ids out of `out`, with an estimate of how many there are in all.
  using TakeIds = std::function<void(size_t)>;
  Outcome encode_parts(const Splitting& by, const Text& text, IdBuffer* out, const TakeIds& take);

  // Does as `encode` with the texts of a batch, one after another, and writes the number of ids of each to `sizes`.
  Outcome encode_batch(const Splitting& by, std::span<const Text> texts, int threads, IdBuffer* out,
                       size_t* sizes);
};

}  // namespace tokcli
