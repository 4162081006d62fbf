// Long pieces: see encoder.h. A piece of many bytes is cut at its borders (bpe/borders/borders.h), and its parts are encoded as pieces.
// Most of them are short, and found in the caches as words are. (Profile: of a megabyte of random letters, merging it in windows
// took two and a half times as long.)
#include <bit>

#include "bpe/borders/borders.h"
#include "tiktoken/encoder.h"

namespace tokcli {

// Encodes the pieces of a batch, of which the long ones become pieces of further batches.
bool Encoder::encode_cut(size_t pieces, const uint8_t* end, IdBuffer* out, Result& result) {
  Batch& batch = *batch_;
  long_ends_.assign(batch.starts + 1, batch.starts + 1 + pieces);
  const uint8_t* p = batch.starts[0];
  Cut cut;
  for (size_t next = 0; next < long_ends_.size();) {
    batch.starts[0] = p;
    size_t count = 0;
    while (count < kBatch && next < long_ends_.size()) {
      const uint8_t* const piece_end = long_ends_[next];
      if (cut.borders == nullptr) cut = cut_from(p, piece_end);
      if (cut.borders != nullptr) count = add_parts(cut, piece_end, count);
      if (cut.borders == nullptr) {
        batch.starts[++count] = piece_end;
        ++next;
      }
      p = batch.starts[count];
    }
    if (!encode_batch(count, end, out, result, nullptr)) return false;
  }
  return true;
}

// Returns where to begin to cut a piece; nothing where it is short, or is a token. Borders take as long to be made as some
// hundred thousand bytes to be merged; text that repeats itself needs none.
Encoder::Cut Encoder::cut_from(const uint8_t* p, const uint8_t* piece_end) {
  const auto size = static_cast<size_t>(piece_end - p);
  if (size < kLeastCut || vocabulary_.find_long(p, size) != kNone) return {};
  static_assert(kLeastCut >= RepeatMerger::kRepeats);
  const uint8_t* const middle = p + (size - RepeatMerger::kRepeats) / 2;  // from where so many bytes are of the piece
  if (!RepeatMerger::repeats(p) || !RepeatMerger::repeats(middle)) long_bytes_ += size;
  const Borders* const borders = vocabulary_.borders(long_bytes_ >= kWorthBorders);
  if (borders == nullptr || !borders->are_of_pieces()) return {};
  return {borders, p + Borders::kBefore};
}

// Goes on to cut a piece until there are enough parts in the batch, or only its end is left. Returns the number of all parts.
// Text that repeats itself is left as it is, for merging knows a shorter way (bpe/repeats.h).
size_t Encoder::add_parts(Cut& cut, const uint8_t* piece_end, size_t count) {
  static_assert(kWindow >= Borders::kPlaces && RepeatMerger::kRepeats <= Borders::kBytes);
  for (; count < kBatch; cut.at += Borders::kPlaces) {
    if (static_cast<size_t>(piece_end - cut.at) < Borders::kBytes) {
      cut = {};
      break;
    }
    if (RepeatMerger::repeats(cut.at)) continue;
    for (uint64_t found = cut.borders->find(cut.at); found != 0; found &= found - 1)
      batch_->starts[++count] = cut.at + std::countr_zero(found);
  }
  return count;
}

}  // namespace tokcli
