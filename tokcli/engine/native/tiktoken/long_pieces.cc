// Long pieces: see encoder.h. A piece of many bytes is cut at its borders (bpe/borders/borders.h), and its parts are encoded as pieces.
// Most of them are short, and found in the caches as words are. (Profile: merging a megabyte of ideographs in windows took
// twice as long, and one of random letters as long.)
#include <bit>

#include "bpe/borders/borders.h"
#include "tiktoken/encoder.h"

namespace tokcli {

// Encodes the pieces of a batch, of which the long ones become pieces of further batches.
bool Encoder::encode_cut(size_t pieces, const uint8_t* end, IdBuffer* out, Result& result) {
  Batch& batch = *batch_;
  long_ends_.assign(batch.starts + 1, batch.starts + 1 + pieces);
  const uint8_t* p = batch.starts[0];
  const uint8_t* cut = nullptr;  // how far a piece has been cut; null where none is
  for (size_t next = 0; next < long_ends_.size();) {
    batch.starts[0] = p;
    size_t count = 0;
    while (count < kBatch && next < long_ends_.size()) {
      const uint8_t* const piece_end = long_ends_[next];
      if (cut == nullptr) cut = cut_from(p, piece_end);
      if (cut != nullptr) cut = add_parts(cut, piece_end, &count);
      if (cut == nullptr) {
        batch.starts[++count] = piece_end;
        ++next;
      }
      p = batch.starts[count];
    }
    if (!encode_batch(count, 0, end, out, result, nullptr)) return false;
  }
  return true;
}

// Returns where to begin to cut a piece; null where it is short, or is a token.
const uint8_t* Encoder::cut_from(const uint8_t* p, const uint8_t* piece_end) const {
  const auto size = static_cast<size_t>(piece_end - p);
  const bool is_cut = size >= kLeastCut && vocabulary_.borders().are_of_pieces() && vocabulary_.find_long(p, size) == kNone;
  return is_cut ? p + Borders::kBefore : nullptr;
}

// Goes on to cut a piece until there are enough parts in the batch, or only its end is left. Returns how far it is cut, or
// null where it is whole. Text that repeats itself is left as it is, for merging knows a shorter way (bpe/merging/repeats.h).
const uint8_t* Encoder::add_parts(const uint8_t* at, const uint8_t* piece_end, size_t* count) {
  static_assert(kWindow >= Borders::kPlaces && RepeatMerger::kRepeats <= Borders::kBytes);
  for (; *count < kBatch; at += Borders::kPlaces) {
    if (static_cast<size_t>(piece_end - at) < Borders::kBytes) return nullptr;
    if (RepeatMerger::repeats(at)) continue;
    for (uint64_t found = vocabulary_.borders().find(at); found != 0; found &= found - 1)
      batch_->starts[++*count] = at + std::countr_zero(found);
  }
  return at;
}

}  // namespace tokcli
