// Dividing texts among threads: see encoder_pool.h.
#include "tiktoken/encoder_pool.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/threads.h"
#include "tiktoken/gather.h"

namespace tokcli {
namespace {

constexpr size_t kBytesPerThread = 1 << 18;  // starting a thread costs as much as encoding about 20 kB
// Threads take chunks of this size one by one, so that they end at about the same time: one in eight of what each has to
// do, but not so small that encoders begin anew all the time, nor so large that the ids leave the L2 cache.
constexpr size_t kLeastChunk = 1 << 15, kMostChunk = 1 << 17, kChunksEach = 8;
constexpr int kMostShares = 32;  // of a batch whose shares are taken one by one, each time with the GIL
constexpr int kMostParts = 8;  // of a text, or of a batch for one thread, whose ids are taken likewise
constexpr size_t kLeastPart = 1 << 18;
constexpr double kSpare = 1.05;  // times the ids that a text seems to have: room that is not used costs nothing

size_t thread_count(int threads, size_t bytes) {
  return std::clamp<size_t>(static_cast<size_t>(std::max(threads, 1)), 1, bytes / kBytesPerThread + 1);
}

// Returns how large the chunks of a text are; all of it is one for a single thread.
size_t chunk_size(size_t threads, size_t bytes) {
  return threads == 1 ? bytes : std::clamp(bytes / threads / kChunksEach, kLeastChunk, kMostChunk);
}

// A text as it is encoded: as it was given, or as a check has rewritten it.
struct CheckedText {
  explicit CheckedText(const Text& given) : text(given) {}
  bool holds(const TextCheck* check) {
    if (check == nullptr) return true;
    const TextCheck::Verdict verdict = check->read(text, utf8);
    if (verdict == TextCheck::Verdict::kRewritten) text = Text::of({utf8.data(), utf8.size()});
    return verdict != TextCheck::Verdict::kRefused;
  }
  Text text;
  ByteBuffer utf8;
};

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

size_t bytes_of_all(std::span<const Text> texts) {
  size_t bytes = 0;
  for (const Text& text : texts) bytes += text.size;
  return bytes;
}

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

// Encodes the texts from number `first` up to `end`, adds what comes of them to `outcome`, and returns whether all are good.
bool encode_run(Encoder& encoder, const Splitting& by, std::span<const Text> texts, size_t first, size_t end,
                const TextCheck* check, IdBuffer* out, size_t* sizes, Outcome* outcome) {
  for (size_t i = first; i < end; ++i) {
    CheckedText checked(texts[i]);
    outcome->is_refused = !checked.holds(check);
    if (outcome->is_refused) return false;
    const Result result = encoder.encode(by, checked.text, out);
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

Outcome EncoderPool::encode(const Splitting& by, const Text& text, int threads, const TextCheck* check, IdBuffer* out) {
  CheckedText checked(text);
  if (!checked.holds(check)) return {.is_refused = true};
  const size_t size = chunk_size(by.pattern ? 1 : thread_count(threads, checked.text.size), checked.text.size);
  return encode_batch(by, cut(checked.text, size), threads, nullptr, out, nullptr);
}

Outcome EncoderPool::encode_parts(const Splitting& by, const Text& text, const TextCheck* check, IdBuffer* out,
                                  const TakeIds& take) {
  CheckedText checked(text);
  if (!checked.holds(check)) return {.is_refused = true};
  const Text& all = checked.text;
  const size_t size = by.pattern ? all.size : std::max(all.size / kMostParts, kLeastPart);
  Lease encoder(*this);
  Outcome outcome;
  size_t done = 0;  // units
  for (const Text& part : cut(all, size)) {
    if (done > 0) {
      take(static_cast<size_t>(static_cast<double>(outcome.result.count) * kSpare * all.size / done));
      out->clear();
    }
    const Result result = encoder->encode(by, part, out);
    if (!result.is_good()) return {.result = result};
    outcome.result.count += result.count;
    done += part.size;
  }
  return outcome;
}

Outcome EncoderPool::encode_batch(const Splitting& by, std::span<const Text> texts, int threads, const TextCheck* check,
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
      if (!encode_run(*encoder, by, texts, first, ends[number], check, gather ? &ids : out, sizes, &outcome)) {
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
    all.is_refused |= one.outcome.is_refused;
    all.result.count += one.outcome.result.count;
    if (!one.outcome.result.is_good() && (!failed || one.outcome.failed < failed->failed)) failed = &one.outcome;
  }
  if (failed) return *failed;
  if (gather && !all.is_refused) gather->finish();
  return all;
}

// Encodes `texts`, of which `share->failed` is the number of the first in the batch.
static void encode_share(Encoder& encoder, const Splitting& by, std::span<const Text> texts, const TextCheck* check,
                         BatchShare* share) {
  for (const Text& text : texts) {
    CheckedText checked(text);
    if (!checked.holds(check)) {
      share->sizes.push_back(BatchShare::kRefused);
    } else {
      share->failure = encoder.encode(by, checked.text, &share->ids);
      if (!share->failure.is_good()) return;
      share->sizes.push_back(share->failure.count);
    }
    ++share->failed;
  }
}

std::vector<BatchShare> EncoderPool::encode_shares(const Splitting& by, std::span<const Text> texts, int threads,
                                                   const TextCheck* check, const TakeShares& take) {
  const size_t bytes = bytes_of_all(texts);
  const size_t workers = thread_count(threads, bytes);
  const size_t wanted = thread_count(workers == 1 ? kMostParts : kMostShares, bytes);
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
    Lease encoder(*this);
    if (workers > 1) encoder->make_pages();
    for (;;) {
      if (worker == 0) take_ready();
      const size_t number = next.fetch_add(1);
      if (number >= wanted) return;
      BatchShare& share = shares[number];
      share.failed = number ? ends[number - 1] : 0;
      encode_share(*encoder, by, texts.subspan(share.failed, ends[number] - share.failed), check, &share);
      if (!share.failure.is_good()) next.store(wanted);
      is_encoded[number].store(true, std::memory_order_release);
    }
  });
  take_ready();
  return shares;
}

}  // namespace tokcli
