// One vocabulary and encoders for any number of threads, which may share a text.
#pragma once

#include <cstdint>
#include <functional>

#include "base/threads.h"
#include "base/worker_pool.h"
#include "tiktoken/encoder.h"

namespace tokcli {

// Returns how many of at most `threads` threads are worth their start for so many bytes of text.
size_t thread_count(size_t threads, size_t bytes);

class EncoderPool : public WorkerPool<Encoder, const Vocabulary&> {
 public:
  using WorkerPool::WorkerPool;

  // Appends the ids of a text to `out`, or only counts them where it is null, in at most `threads` threads.
  Result encode(const Splitting& by, Bytes text, size_t threads, IdBuffer* out);

  // Does so in this thread with a text of which a list is made: part by part, so that the ids need little memory. After each
  // part but the last, `take` is called to take its ids out of `out`, with an estimate of how many there are in all.
  using TakeIds = std::function<void(size_t)>;
  Result encode_parts(const Splitting& by, Bytes text, IdBuffer* out, const TakeIds& take);
};

}  // namespace tokcli
