// Dividing batches among threads: see shares.h.
#include "tiktoken/shares.h"

#include <algorithm>
#include <atomic>

namespace tokcli {
namespace {

constexpr size_t kBytesPerThread = 1 << 18;  // starting a thread costs as much as encoding about 20 kB
// Of a batch whose shares are taken one by one, each time with the GIL; and of one that a single thread encodes.
constexpr int kMostShares = 32, kMostForOne = 8;

// Encodes `texts`, of which `share->failed` is the number of the first in the batch.
void encode_share(const EncodeText& encode, std::span<const Text> texts, BatchShare* share) {
  for (const Text& text : texts) {
    Result result;
    if (!encode(text, &share->ids, &result)) {
      share->sizes.push_back(BatchShare::kRefused);
    } else if (result.is_good()) {
      share->sizes.push_back(result.count);
    } else {
      share->failure = result;
      return;
    }
    ++share->failed;
  }
}

}  // namespace

size_t thread_count(int threads, size_t bytes) {
  return std::clamp<size_t>(static_cast<size_t>(std::max(threads, 1)), 1, bytes / kBytesPerThread + 1);
}

size_t bytes_of_all(std::span<const Text> texts) {
  size_t bytes = 0;
  for (const Text& text : texts) bytes += text.size;
  return bytes;
}

std::vector<size_t> run_ends(std::span<const Text> texts, size_t bytes, size_t count) {
  std::vector<size_t> ends;
  for (size_t i = 0, seen = 0; i < texts.size(); ++i) {
    seen += texts[i].size;
    if (seen / count >= bytes / count * (ends.size() + 1) / count && ends.size() + 1 < count) ends.push_back(i + 1);
  }
  ends.resize(count, texts.size());
  return ends;
}

std::vector<BatchShare> encode_in_shares(std::span<const Text> texts, int threads, const MakeEncodeText& make,
                                         const TakeShares& take) {
  const size_t bytes = bytes_of_all(texts);
  const size_t workers = thread_count(threads, bytes);
  const size_t wanted = thread_count(workers == 1 ? kMostForOne : kMostShares, bytes);
  const std::vector<size_t> ends = run_ends(texts, bytes, wanted);
  std::vector<BatchShare> shares(wanted);
  std::vector<std::atomic<bool>> is_encoded(wanted);
  std::atomic<size_t> next{0};  // the first share that no thread has begun
  size_t taken = 0;
  const auto take_ready = [&] {
    const size_t begin = taken;
    while (taken < wanted && is_encoded[taken].load(std::memory_order_acquire) && shares[taken].failure.is_good()) ++taken;
    if (taken > begin) take(std::span(shares).subspan(begin, taken - begin));
  };
  in_threads(workers, [&](size_t worker) {
    const EncodeText encode = make(workers > 1);
    for (;;) {
      if (worker == 0) take_ready();
      const size_t number = next.fetch_add(1);
      if (number >= wanted) return;
      BatchShare& share = shares[number];
      share.failed = number ? ends[number - 1] : 0;
      encode_share(encode, texts.subspan(share.failed, ends[number] - share.failed), &share);
      if (!share.failure.is_good()) next.store(wanted);
      is_encoded[number].store(true, std::memory_order_release);
    }
  });
  take_ready();
  return shares;
}

}  // namespace tokcli
