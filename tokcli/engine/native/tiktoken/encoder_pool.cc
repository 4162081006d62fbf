// Dividing texts among threads: see encoder_pool.h.
#include "tiktoken/encoder_pool.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/threads.h"
#include "tiktoken/gather.h"

namespace tokcli {
namespace {

// Threads take chunks of this size one by one, so that they end at about the same time: one in eight of what each has to
// do, but not so small that encoders begin anew all the time, nor so large that the ids leave the L2 cache.
constexpr size_t kLeastChunk = 1 << 15, kMostChunk = 1 << 17, kChunksEach = 8;
constexpr int kMostParts = 8;  // of a text whose ids are taken part by part
constexpr size_t kLeastPart = 1 << 18;
constexpr double kSpare = 1.05;  // times the ids that a text seems to have: room that is not used costs nothing

// Returns how large the chunks of a text are; all of it is one for a single thread.
size_t chunk_size(size_t threads, size_t bytes) {
  return threads == 1 ? bytes : std::clamp(bytes / threads / kChunksEach, kLeastChunk, kMostChunk);
}

// Cuts a text into chunks of about this many units, where that changes no piece.
std::vector<Text> cut(const Text& text, size_t size) {
  std::vector<Text> chunks;
  for (size_t at = 0; at < text.size;) {
    const size_t end = size < text.size - at ? next_cut(text, at + size) : text.size;
    chunks.push_back(text.part(at, end));
    at = end;
  }
  return chunks;
}

// Encodes the texts from number `first` up to `end`, adds what comes of them to `outcome`, and returns whether all are good.
bool encode_run(Encoder& encoder, const Splitting& by, std::span<const Text> texts, size_t first, size_t end, IdBuffer* out, size_t* sizes, Outcome* outcome) {
  for (size_t i = first; i < end; ++i) {
    const Result result = encoder.encode(by, texts[i], out);
    if (!result.is_good()) {
      outcome->result = result;
      outcome->failed = i;
      return false;
    }
    outcome->result.count += result.count;
    if (sizes != nullptr) sizes[i] = static_cast<size_t>(result.count);
  }
  return true;
}

}  // namespace

Outcome EncoderPool::encode(const Splitting& by, const Text& text, int threads, IdBuffer* out) {
  const size_t size = chunk_size(by.pattern ? 1 : thread_count(threads, text.size), text.size);
  return encode_batch(by, cut(text, size), threads, out, nullptr);
}

Outcome EncoderPool::encode_parts(const Splitting& by, const Text& text, IdBuffer* out,
                                  const TakeIds& take) {
  const size_t size = by.pattern ? text.size : std::max(text.size / kMostParts, kLeastPart);
  Lease encoder(*this);
  Outcome outcome;
  size_t done = 0;  // units
  for (const Text& part : cut(text, size)) {
    if (done > 0) {
      take(static_cast<size_t>(static_cast<double>(outcome.result.count) * kSpare * text.size / done));
      out->clear();
    }
    const Result result = encoder->encode(by, part, out);
    if (!result.is_good()) return {.result = result};
    outcome.result.count += result.count;
    done += part.size;
  }
  return outcome;
}

Outcome EncoderPool::encode_batch(const Splitting& by, std::span<const Text> texts, int threads,
                                  IdBuffer* out, size_t* sizes) {
  const size_t bytes = bytes_of_all(texts);
  const size_t workers = std::clamp<size_t>(thread_count(threads, bytes), 1, std::max<size_t>(texts.size(), 1));
  const std::vector<size_t> ends = run_ends(texts, bytes, bytes / std::max<size_t>(chunk_size(workers, bytes), 1) + 1);
  // Room that is not used costs nothing, and growing copies: hardly a text has more ids than half its bytes, and few have
  // more than three eighths.
  std::optional<Gather> gather;
  if (out != nullptr && workers > 1) gather.emplace(ends.size(), bytes / 2, out);
  else if (out != nullptr) out->reserve(bytes / 8 * 3);
  struct alignas(kCacheLine) Made {
    Outcome outcome;
  };
  std::vector<Made> made(workers);
  std::atomic<size_t> next{0};  // the first run that no thread has begun
  in_threads(workers, [&](size_t worker) {
    Lease encoder(*this);
    if (workers > 1) encoder->make_pages();
    IdBuffer ids;
    Outcome outcome;
    for (size_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < ends.size();) {
      const size_t first = number ? ends[number - 1] : 0;
      if (!encode_run(*encoder, by, texts, first, ends[number], gather ? &ids : out, sizes, &outcome)) {
        next.store(ends.size(), std::memory_order_relaxed);
        break;
      }
      if (gather) gather->add(number, &ids);
    }
    made[worker].outcome = outcome;
  });
  Outcome all;
  const Outcome* failed = nullptr;  // the first text that is not good
  for (const Made& one : made) {
    all.result.count += one.outcome.result.count;
    if (!one.outcome.result.is_good() && (!failed || one.outcome.failed < failed->failed)) failed = &one.outcome;
  }
  if (failed) return *failed;
  if (gather) gather->finish();
  return all;
}

}  // namespace tokcli
