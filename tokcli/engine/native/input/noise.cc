// Finding bytes that are not UTF-8: see noise.h.
#include "input/noise.h"

#include <algorithm>
#include <cstring>

#include "base/watch.h"
#include "input/valid_utf8.h"

namespace tokcli {
namespace {

constexpr uint8_t kReplacement[] = {0xEF, 0xBF, 0xBD};  // U+FFFD
constexpr int kFew = 8;  // characters that are looked at one by one: noise has hardly more in a row

// Most bytes tell alone that they are a character, or that no character begins with them. (Profile: asking first_sequence
// of each of them took a quarter of the time of splitting noise.)
bool is_ascii(uint8_t byte) { return byte < 0x80; }
bool begins_none(uint8_t byte) { return (byte >= 0x80 && byte < 0xC2) || byte > 0xF4; }

}  // namespace

NoisyRun next_run(Bytes data, size_t at, bool is_whole) {
  size_t bad = at;
  for (int seen = 0; bad < data.size(); ++seen) {
    if (seen == kFew) {
      bad += valid_utf8(data.subspan(bad));
      break;
    }
    if (is_ascii(data[bad])) {
      ++bad;
      continue;
    }
    if (begins_none(data[bad])) break;
    const Utf8Sequence sequence = first_sequence(data.subspan(bad));
    if (!sequence.is_character) break;
    bad += sequence.size;
  }
  size_t end = bad;
  Pace pace;
  for (; end < data.size() && !is_ascii(data[end]); pace.step()) {
    if (begins_none(data[end])) {
      ++end;
      continue;
    }
    const Utf8Sequence sequence = first_sequence(data.subspan(end));
    if (sequence.is_character) break;
    if (sequence.is_cut && !is_whole) return {bad, end, true};
    end += sequence.size;
  }
  work_done(end - at);
  return {bad, end, !is_whole && end == data.size()};
}

size_t replace_noise(Bytes data, size_t limit, ByteBuffer* out) {
  const size_t most = out->size() + std::min(limit, SIZE_MAX - out->size());
  size_t at = 0;
  const auto append = [&](const uint8_t* bytes, size_t size) {
    if (size > 0) std::memcpy(out->reserve(size), bytes, size);
    out->commit(size);
  };
  while (at < data.size() && out->size() < most) {
    const NoisyRun run = next_run(data, at, true);
    const size_t taken = std::min(run.bad - at, most - out->size());
    append(data.data() + at, taken);
    at += taken;
    if (at < run.bad) break;
    for (; at < run.end && out->size() < most; at += first_sequence(data.subspan(at)).size)
      append(kReplacement, sizeof kReplacement);
  }
  return at;
}

}  // namespace tokcli
