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

// What came of a text that a TextCheck was asked about first; `is_refused`: the check does not hold, and there are no
// ids.
struct Outcome {
  Result result;
  bool is_refused = false;
};

// Some texts of a batch, in a row, which one thread encodes.
struct alignas(kCacheLine) BatchShare {
  static constexpr size_t kRefused = SIZE_MAX;  // stands for the number of ids where the check does not hold
  IdBuffer ids;                // of all texts, one after another
  std::vector<size_t> sizes;   // the number of ids of each text, or kRefused
  bool has_refused = false;
  Result failure;              // the result of the text at which encoding stopped, if it did
  size_t failed = 0;           // the number of that text in the batch
};

class EncoderPool : public WorkerPool<Encoder, const Vocabulary&> {
 public:
  using WorkerPool::WorkerPool;

  // Appends the ids of a text to `out`, or only counts them where it is null, in at most `threads` threads. A check
  // (null for none) is asked first, and may rewrite the text.
  Outcome encode(const Splitting& by, const Text& text, int threads, const TextCheck* check, IdBuffer* out);

  // Encodes texts in at most `threads` threads, in shares of about as many bytes. `all_or_none`: where the check does not
  // hold for one text of a share, none of that share is encoded. `take`, where it is given, is called in this thread with
  // the shares that are ready while other threads encode further ones: each share once, in their order, up to the first
  // that has failed.
  using TakeShares = std::function<void(std::span<BatchShare>)>;
  std::vector<BatchShare> encode_batch(const Splitting& by, std::span<const Text> texts, int threads, const TextCheck* check,
                                       bool all_or_none, const TakeShares& take);

 private:
  void encode_share(Encoder& encoder, const Splitting& by, std::span<const Text> texts, const TextCheck* check,
                    bool all_or_none, BatchShare* share);
};

}  // namespace tokcli
