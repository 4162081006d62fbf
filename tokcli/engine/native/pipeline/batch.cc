// Dividing batches among threads: see batch.h.
#include "pipeline/batch.h"

#include <atomic>

#include "tiktoken/encoder_pool.h"

namespace tokcli {
namespace {

// Of a batch whose shares are taken one by one, each time with the GIL; and of one that a single thread encodes.
constexpr size_t kMostShares = 32, kMostForOne = 8;

// Divides texts into `count` runs of about as many bytes each, and returns the number of the text after each run.
std::vector<size_t> run_ends(std::span<const Text> texts, size_t bytes, size_t count) {
  std::vector<size_t> ends;
  for (size_t i = 0, seen = 0; i < texts.size(); ++i) {
    seen += texts[i].size;
    if (seen / count >= bytes / count * (ends.size() + 1) / count && ends.size() + 1 < count) ends.push_back(i + 1);
  }
  ends.resize(count, texts.size());
  return ends;
}

}  // namespace

void encode_in_shares(std::span<const Text> texts, size_t threads, const MakeEncodeText& make, const TakeShares& take) {
  size_t bytes = 0;
  for (const Text& text : texts) bytes += text.size;
  const size_t workers = thread_count(threads, bytes);
  const size_t wanted = thread_count(workers == 1 ? kMostForOne : kMostShares, bytes);
  const std::vector<size_t> ends = run_ends(texts, bytes, wanted);
  std::vector<BatchShare> shares(wanted);
  std::vector<std::atomic<bool>> is_encoded(wanted);
  std::atomic<size_t> next{0};  // the first share that no thread has begun
  size_t taken = 0;
  const auto take_ready = [&] {
    const size_t begin = taken;
    while (taken < wanted && is_encoded[taken].load(std::memory_order_acquire)) ++taken;
    if (taken > begin) take(std::span(shares).subspan(begin, taken - begin));
  };
  in_threads(workers, [&](size_t worker) {
    const EncodeText encode = make(workers > 1);
    for (;;) {
      if (worker == 0) take_ready();
      const size_t number = next.fetch_add(1);
      if (number >= wanted) return;
      BatchShare& share = shares[number];
      for (size_t i = number ? ends[number - 1] : 0; i < ends[number]; ++i) share.sizes.push_back(encode(texts[i], &share.ids));
      is_encoded[number].store(true, std::memory_order_release);
    }
  });
  take_ready();
}

}  // namespace tokcli
