// Dividing texts among threads: see encoder_pool.h.
#include "tiktoken/encoder_pool.h"

#include <algorithm>

#include "base/threads.h"

namespace tokcli {
namespace {

constexpr size_t kBytesPerThread = 1 << 18;  // starting a thread costs as much as encoding about 20 kB

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
  std::vector<Result> results(segments.size());
  std::vector<IdBuffer> more(segments.empty() ? 0 : segments.size() - 1);  // the ids of all segments but the first
  in_threads(segments.size(), [&](size_t i) {
    results[i] = Lease(*this)->encode(by, segments[i], out == nullptr ? nullptr : i == 0 ? out : &more[i - 1]);
  });
  for (const Result& result : results) {
    if (!result.is_good()) {
      outcome.result = result;
      return outcome;
    }
    outcome.result.count += result.count;
  }
  for (const IdBuffer& ids : more) {
    if (out != nullptr) out->append(ids);
  }
  return outcome;
}

std::vector<BatchShare> EncoderPool::encode_batch(const Splitting& by, std::span<const Text> texts, int threads,
                                                  const TextCheck* check, bool all_or_none) {
  size_t bytes = 0;
  for (const Text& text : texts) bytes += text.size;
  const size_t wanted = thread_count(threads, bytes);
  std::vector<size_t> ends;  // of each share, in texts
  for (size_t i = 0, seen = 0; i < texts.size(); ++i) {
    seen += texts[i].size;
    if (seen * wanted >= bytes * (ends.size() + 1) && ends.size() + 1 < wanted) ends.push_back(i + 1);
  }
  ends.resize(wanted, texts.size());
  std::vector<BatchShare> shares(wanted);
  in_threads(wanted, [&](size_t number) {
    Lease encoder(*this);
    BatchShare& share = shares[number];
    const size_t begin = number ? ends[number - 1] : 0, end = ends[number];
    for (size_t i = begin; all_or_none && i < end && !share.has_refused; ++i)
      share.has_refused = !CheckedText(texts[i]).holds(check);
    if (share.has_refused) return;
    for (size_t i = begin; i < end; ++i) {
      CheckedText checked(texts[i]);
      if (!checked.holds(check)) {
        share.has_refused = true;
        share.sizes.push_back(BatchShare::kRefused);
        continue;
      }
      const Result result = encoder->encode(by, checked.text, &share.ids);
      share.sizes.push_back(result.count);
      if (!result.is_good()) {
        share.failure = result;
        share.failed = i;
        return;
      }
    }
  });
  return shares;
}

}  // namespace tokcli
