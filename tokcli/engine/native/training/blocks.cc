// Writing, reading and merging blocks: see blocks.h.
#include "training/blocks.h"

#include <algorithm>

namespace tokcli {
namespace {

constexpr size_t kMaxVarint = 10;  // bytes of LEB128 for 64 bits

// Appends a number as LEB128, as in DWARF: seven bits a byte, the lowest first.
void put_number(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

}  // namespace

void BlockWriter::add(std::string_view piece, uint64_t count) {
  const size_t limit = std::min(piece.size(), last_.size());
  size_t same = 0;
  while (same < limit && piece[same] == last_[same]) ++same;
  put_number(out_, same);
  put_number(out_, piece.size() - same);
  out_.append(piece.substr(same));
  put_number(out_, count);
  last_ = piece;
}

bool BlockReader::number(uint64_t* out) {
  *out = 0;
  for (size_t i = 0; i < kMaxVarint && at_ < end_; ++i) {
    const uint64_t byte = *at_++;
    if (i == kMaxVarint - 1 && byte > 1) return false;
    *out |= (byte & 0x7F) << 7 * i;
    if (byte < 0x80) return true;
  }
  return false;
}

bool BlockReader::next() {
  if (at_ == end_ || is_damaged_) return false;
  uint64_t same, rest;
  is_damaged_ = true;
  if (!number(&same) || same > piece_.size() || !number(&rest) || rest > static_cast<uint64_t>(end_ - at_)) return false;
  piece_.resize(static_cast<size_t>(same));
  piece_.append(reinterpret_cast<const char*>(at_), static_cast<size_t>(rest));
  at_ += rest;
  if (!number(&count_) || count_ == 0 || count_ > kMaxCount || piece_.empty()) return false;
  is_damaged_ = false;
  return true;
}

bool add_rows(PieceTable& table, Bytes block) {
  BlockReader reader(block);
  while (reader.next()) table.add(bytes_of(reader.piece()), reader.count());
  return !reader.is_damaged();
}

// --- merging runs ----------------------------------------------------------------------------------------------------

bool RunMerger::feed(size_t number, std::string block) {
  if (number >= runs_.size() || !runs_[number].is_open) return false;
  Run& run = runs_[number];
  is_waiting_ = false;
  if (awaiting_ > 0) --awaiting_;
  if (block.empty()) {
    run.is_open = false;
    return true;
  }
  run.block = std::move(block);
  run.reader = BlockReader(bytes_of(run.block));
  return advance(number);
}

// Moves a run to its next row, which has to be above the one before it. At the end of its block the run needs another.
bool RunMerger::advance(size_t number) {
  Run& run = runs_[number];
  if (!run.reader.next()) {
    wanted_ = number;
    is_waiting_ = true;
    return !run.reader.is_damaged();
  }
  if (!run.last.empty() && run.reader.piece() <= run.last) return false;
  run.last = run.reader.piece();
  push(number);
  return true;
}

void RunMerger::push(size_t run) {
  heap_.push_back(run);
  std::push_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return is_above(a, b); });
}

RunMerger::State RunMerger::merge(size_t block_bytes) {
  if (awaiting_ > 0) {
    wanted_ = runs_.size() - awaiting_;
    return State::kNeedsInput;
  }
  if (is_waiting_) return State::kNeedsInput;
  for (;;) {
    if (writer_.size() >= block_bytes) return State::kBlock;
    if (heap_.empty()) break;
    const size_t least = heap_.front();
    const BlockReader& reader = runs_[least].reader;
    if (has_pending_ && pending_ == reader.piece()) {
      pending_count_ += reader.count();
      if (pending_count_ > kMaxCount) return State::kOverflown;
    } else {
      if (has_pending_) writer_.add(pending_, pending_count_);
      pending_ = reader.piece();
      pending_count_ = reader.count();
      has_pending_ = true;
    }
    std::pop_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return is_above(a, b); });
    heap_.pop_back();
    if (!advance(least)) return State::kDamaged;
    if (is_waiting_) return State::kNeedsInput;
  }
  if (has_pending_) {
    writer_.add(pending_, pending_count_);
    has_pending_ = false;
  }
  return writer_.size() > 0 ? State::kBlock : State::kDone;
}

}  // namespace tokcli
