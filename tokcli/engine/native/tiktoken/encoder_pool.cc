// Dividing texts among threads: see encoder_pool.h.
#include "tiktoken/encoder_pool.h"

#include <algorithm>
#include <atomic>

#include "base/threads.h"

namespace tokcli {
namespace {

constexpr size_t kBytesPerThread = 1 << 18;  // starting a thread costs as much as encoding about 20 kB
constexpr int kMostShares = 32;  // of a batch whose shares are taken one by one, each time with the GIL

size_t thread_count(int threads, size_t bytes) {
  return std::clamp<size_t>(static_cast<size_t>(std::max(threads, 1)), 1, bytes / kBytesPerThread + 1);
}

// A text as it is encoded: as it was given, or as a check has rewritten it.
struct CheckedText {
  explicit CheckedText(const Text& given) : text(given) {}
  bool holds(const TextCheck* check) {
    if (check == nullptr) return true;
    const TextCheck::Verdict verdict = check->read(text, utf8);
    if (verdict == TextCheck::Verdict::kRewritten) text = Text::of(utf8);
    return verdict != TextCheck::Verdict::kRefused;
  }
  Text text;
  std::vector<uint8_t> utf8;
};

// Cuts a text into at most `threads` segments of about the same size, where that changes no piece.
std::vector<Text> cut(const Text& text, int threads) {
  const size_t wanted = thread_count(threads, text.size);
  std::vector<Text> segments;
  size_t at = 0;
  for (size_t i = 1; i <= wanted && at < text.size; ++i) {
    const size_t target = std::max(text.size / wanted * i, at + 1);
    const size_t end = i == wanted ? text.size : next_cut(text, target);
    segments.push_back(text.part(at, end));
    at = end;
  }
  return segments;
}

}  // namespace

Outcome EncoderPool::encode(const Splitting& by, const Text& text, int threads, const TextCheck* check, IdBuffer* out) {
  Outcome outcome;
  CheckedText checked(text);
  outcome.is_refused = !checked.holds(check);
  if (outcome.is_refused) return outcome;
  const std::vector<Text> segments = cut(checked.text, by.pattern ? 1 : threads);
  struct alignas(kCacheLine) Made {
    Result result;
    IdBuffer ids;  // of all segments but the first, whose ids go to `out`
  };
  std::vector<Made> made(segments.size());
  in_threads(segments.size(), [&](size_t i) {
    made[i].result = Lease(*this)->encode(by, segments[i], out == nullptr ? nullptr : i == 0 ? out : &made[i].ids);
  });
  for (const Made& segment : made) {
    if (!segment.result.is_good()) {
      outcome.result = segment.result;
      return outcome;
    }
    outcome.result.count += segment.result.count;
  }
  for (const Made& segment : made) {
    if (out != nullptr) out->append(segment.ids);
  }
  return outcome;
}

// Encodes `texts`, of which `share->failed` is the number of the first in the batch.
void EncoderPool::encode_share(Encoder& encoder, const Splitting& by, std::span<const Text> texts, const TextCheck* check,
                               bool all_or_none, BatchShare* share) {
  for (size_t i = 0; all_or_none && i < texts.size() && !share->has_refused; ++i)
    share->has_refused = !CheckedText(texts[i]).holds(check);
  if (share->has_refused) return;
  for (const Text& text : texts) {
    CheckedText checked(text);
    if (!checked.holds(check)) {
      share->has_refused = true;
      share->sizes.push_back(BatchShare::kRefused);
    } else {
      share->failure = encoder.encode(by, checked.text, &share->ids);
      if (!share->failure.is_good()) return;
      share->sizes.push_back(share->failure.count);
    }
    ++share->failed;
  }
}

std::vector<BatchShare> EncoderPool::encode_batch(const Splitting& by, std::span<const Text> texts, int threads,
                                                  const TextCheck* check, bool all_or_none, const TakeShares& take) {
  size_t bytes = 0;
  for (const Text& text : texts) bytes += text.size;
  const size_t workers = thread_count(threads, bytes);
  const size_t wanted = workers == 1 || !take ? workers : thread_count(kMostShares, bytes);
  std::vector<size_t> ends;  // of each share, in texts
  for (size_t i = 0, seen = 0; i < texts.size(); ++i) {
    seen += texts[i].size;
    if (seen * wanted >= bytes * (ends.size() + 1) && ends.size() + 1 < wanted) ends.push_back(i + 1);
  }
  ends.resize(wanted, texts.size());
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
    for (;;) {
      if (worker == 0 && take) take_ready();
      const size_t number = next.fetch_add(1);
      if (number >= wanted) return;
      BatchShare& share = shares[number];
      share.failed = number ? ends[number - 1] : 0;
      encode_share(*encoder, by, texts.subspan(share.failed, ends[number] - share.failed), check, all_or_none, &share);
      if (!share.failure.is_good()) next.store(wanted);
      is_encoded[number].store(true, std::memory_order_release);
    }
  });
  if (take) take_ready();
  return shares;
}

}  // namespace tokcli
