// Finding bytes that are not UTF-8: see invalid.h.
#include "input/invalid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/processor.h"
#include "base/watch.h"
#include "input/valid_utf8.h"

#if defined(TOKCLI_SSE2)
#include <emmintrin.h>
#endif

namespace tokcli {
namespace {

constexpr uint8_t kReplacement[] = {0xEF, 0xBF, 0xBD};  // U+FFFD

// What the bytes of a window are by themselves, a bit each.
struct ByteKinds {
  uint64_t ascii = 0, continues = 0;  // continues: 80 to BF
  uint64_t begins_two = 0;            // C2 to DF: with one that continues, a character
  uint64_t begins_more = 0;           // E0 to F4: the next bytes tell
};

#if defined(TOKCLI_SSE2)
ByteKinds kinds_of(const uint8_t* p) {
  ByteKinds kinds;
  for (unsigned i = 0; i < 64; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    // bytes are compared as signed ones: 80 is the least of all, and those of ASCII are the greatest
    const auto below = [&](int bound) { return _mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(bound))); };
    const auto bits = [&](__m128i found) { return uint64_t{static_cast<uint16_t>(_mm_movemask_epi8(found))} << i; };
    kinds.ascii |= bits(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(-1)));
    kinds.continues |= bits(below(0xC0));
    kinds.begins_two |= bits(_mm_andnot_si128(below(0xC2), below(0xE0)));
    kinds.begins_more |= bits(_mm_andnot_si128(below(0xE0), below(0xF5)));
  }
  return kinds;
}
#else
ByteKinds kinds_of(const uint8_t* p) {
  ByteKinds kinds;
  for (unsigned i = 0; i < 64; ++i) {
    const auto bit = [&](bool is) { return uint64_t{is} << i; };
    kinds.ascii |= bit(p[i] < 0x80);
    kinds.continues |= bit(p[i] >= 0x80 && p[i] < 0xC0);
    kinds.begins_two |= bit(p[i] >= 0xC2 && p[i] < 0xE0);
    kinds.begins_more |= bit(p[i] >= 0xE0 && p[i] < 0xF5);
  }
  return kinds;
}
#endif

}  // namespace

// Finds out which bytes of the window are text; its first `inside` bytes belong to a character before it. Bytes that are
// not UTF-8 are as good as random, so single bytes are hardly ever asked about: a branch would be mispredicted half of
// the time. (Profile: byte by byte this took a quarter of the time of encoding them.)
void InvalidReader::load(size_t inside) {
  const size_t size = data_.size() - std::min(window_, data_.size());
  const uint8_t* p = data_.data() + window_;
  std::array<uint8_t, kWindowBytes> copy;
  if (size < kWindowBytes) {
    copy.fill(0);
    std::copy_n(p, size, copy.data());
    p = copy.data();
  }
  const ByteKinds kinds = kinds_of(p);
  const bool goes_on = size > kWindowBytes && p[kWindowBytes] >= 0x80 && p[kWindowBytes] < 0xC0;
  const uint64_t followed = kinds.continues >> 1 | uint64_t{goes_on} << (kWindowBytes - 1);
  const uint64_t two = kinds.begins_two & followed;
  text_ = kinds.ascii | two | two << 1 | ((uint64_t{1} << inside) - 1);
  carried_ = two >> (kWindowBytes - 1);
  for (uint64_t rest = kinds.begins_more & followed; rest != 0; rest &= rest - 1) {
    const auto place = static_cast<size_t>(std::countr_zero(rest));
    const Utf8Sequence sequence = first_sequence(data_.subspan(window_ + place));
    if (!sequence.is_character) continue;
    text_ |= ((uint64_t{1} << sequence.size) - 1) << place;
    if (place + sequence.size > kWindowBytes) carried_ = place + sequence.size - kWindowBytes;
  }
}

// Goes on to the next byte that is text, or that is none, and returns where it is. A window of nothing but text is as a
// rule followed by more of it.
size_t InvalidReader::seek(bool is_text) {
  while (at_ < data_.size()) {
    const uint64_t found = (is_text ? text_ : ~text_) >> (at_ - window_);
    if (found != 0) return at_ = std::min(at_ + static_cast<size_t>(std::countr_zero(found)), data_.size());
    at_ = window_ + kWindowBytes;
    size_t inside = carried_;
    if (~text_ == 0 && at_ + inside < data_.size()) {
      at_ += inside;
      at_ += valid_utf8(data_.subspan(at_));
      inside = 0;
    }
    window_ = at_;
    load(inside);
  }
  return at_ = data_.size();
}

InvalidRun InvalidReader::next() {
  const size_t begin = at_, bad = seek(false), end = seek(true);
  work_done(end - begin);
  return {bad, end, !is_whole_ && end == data_.size()};
}

// Near the end, as a rule, is one. A byte that continues no character begins one, or is bad, whatever is before it; so runs
// that end behind it may be found from it on.
size_t last_invalid(Bytes data, bool is_whole) {
  constexpr size_t kNear = 1 << 10, kFarther = 16;
  size_t last = 0, begin = data.size();
  for (size_t near = kNear; last == 0 && begin > 0; near *= kFarther) {
    begin = data.size() - std::min(near, data.size());
    while (begin > 0 && data[begin] >= 0x80 && data[begin] < 0xC0) --begin;
    InvalidReader reader(data, begin, is_whole);
    for (InvalidRun run = reader.next(); run.bad < run.end && !run.is_open; run = reader.next()) last = run.end;
  }
  return last;
}

size_t replace_invalid(Bytes data, size_t limit, ByteBuffer* out) {
  const size_t most = out->size() + std::min(limit, SIZE_MAX - out->size());
  size_t at = 0;
  InvalidReader reader(data, 0, true);
  const auto append = [&](const uint8_t* bytes, size_t size) {
    if (size > 0) std::memcpy(out->reserve(size), bytes, size);
    out->commit(size);
  };
  while (at < data.size() && out->size() < most) {
    const InvalidRun run = reader.next();
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
