// Dividing a text among threads: see encoder_pool.h.
#include "tiktoken/encoder_pool.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "text/text.h"
#include "tiktoken/gather.h"

namespace tokcli {
namespace {

constexpr size_t kBytesPerThread = 1 << 18;  // starting a thread costs as much as encoding about 20 kB
// Threads take chunks of this size one by one, so that they end at about the same time: one in eight of what each has to
// do, but not so small that encoders begin anew all the time, nor so large that the ids leave the L2 cache.
constexpr size_t kLeastChunk = 1 << 15, kMostChunk = 1 << 17, kChunksEach = 8;
constexpr size_t kMostParts = 8;  // of a text whose ids are taken part by part
constexpr size_t kLeastPart = 1 << 18;
constexpr double kSpare = 1.05;  // times the ids that a text seems to have: room that is not used costs nothing

// Cuts a text into chunks of about this many bytes, where that changes no piece.
std::vector<Bytes> cut(Bytes text, size_t size) {
  std::vector<Bytes> chunks;
  for (size_t at = 0; at < text.size();) {
    const size_t end = size < text.size() - at ? next_cut(Text::of(text), at + size) : text.size();
    chunks.push_back(text.subspan(at, end - at));
    at = end;
  }
  return chunks;
}

}  // namespace

size_t thread_count(size_t threads, size_t bytes) {
  return std::clamp<size_t>(threads, 1, bytes / kBytesPerThread + 1);
}

Result EncoderPool::encode(const Splitting& by, Bytes text, size_t threads, IdBuffer* out) {
  const size_t workers = by.may_cut() ? thread_count(threads, text.size()) : 1;
  if (workers == 1) {
    Lease encoder(*this);
    return encoder->encode(by, text, out);
  }
  const std::vector<Bytes> chunks = cut(text, std::clamp(text.size() / workers / kChunksEach, kLeastChunk, kMostChunk));
  // Room that is not used costs nothing, and growing copies: hardly a text has more ids than half its bytes.
  std::optional<Gather> gather;
  if (out != nullptr) gather.emplace(chunks.size(), text.size() / 2, out);
  struct alignas(kCacheLine) Made {
    Result result;
  };
  std::vector<Made> made(workers);
  std::atomic<size_t> next{0};  // the first chunk that no thread has begun
  in_threads(workers, [&](size_t worker) {
    Lease encoder(*this);
    encoder->make_pages();
    IdBuffer ids;
    Result all;
    for (size_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < chunks.size();) {
      const Result result = encoder->encode(by, chunks[number], gather ? &ids : nullptr);
      all.add(result);
      if (!result.is_good()) {
        next.store(chunks.size(), std::memory_order_relaxed);
        break;
      }
      if (gather) gather->add(number, &ids);
    }
    made[worker].result = all;
  });
  Result all;
  for (const Made& one : made) all.add(one.result);
  if (gather && all.is_good()) gather->finish();
  return all;
}

Result EncoderPool::encode_parts(const Splitting& by, Bytes text, IdBuffer* out, const TakeIds& take) {
  const size_t size = by.may_cut() ? std::max(text.size() / kMostParts, kLeastPart) : text.size();
  Lease encoder(*this);
  Result all;
  size_t done = 0;  // bytes
  for (const Bytes part : cut(text, size)) {
    if (done > 0) {
      take(static_cast<size_t>(static_cast<double>(all.count) * kSpare * text.size() / done));
      out->clear();
    }
    all.add(encoder->encode(by, part, out));
    if (!all.is_good()) break;
    done += part.size();
  }
  return all;
}

}  // namespace tokcli
