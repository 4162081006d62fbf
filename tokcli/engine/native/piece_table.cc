// See piece_table.h.
#include "piece_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "pieces.h"

namespace tokcli {
namespace {

constexpr size_t kLongPage = size_t{1} << 16;
constexpr size_t kMaxVarint = 10;
constexpr size_t kRoom = 512;  // ends of pieces that are found at a time

void put_number(std::string& out, uint64_t value) {  // LEB128, as in DWARF: seven bits a byte, the lowest first
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

uint64_t big_endian(const Key& key) {
  uint64_t out = 0;
  for (unsigned i = 0; i < 8; ++i) out = out << 8 | (key.low >> 8 * i & 0xFF);
  return out;
}

}  // namespace

// --- counting --------------------------------------------------------------------------------------------------------

void PieceTable::count_text(Family family, Bytes text) {
  const FindEnds find_ends = finder(family, instructions());
  std::array<const uint8_t*, kRoom + kWindow> ends;
  const uint8_t *p = text.data(), *end = p + text.size();
  while (p < end) {
    const size_t found = find_ends(p, end, ends.data(), kRoom);
    for (size_t i = 0; i < found; ++i) {
      add(p, static_cast<size_t>(ends[i] - p), static_cast<size_t>(end - p), 1);
      p = ends[i];
    }
  }
}

void PieceTable::add(const uint8_t* p, size_t size, size_t readable, uint64_t count) {
  if (size == 0 || count == 0) return;
  if (size > kKeyBytes) return add_long(p, size, count);
  const Key key = key_of(p, size, readable);
  if (size_ * 2 >= index_.size()) grow_index();
  const size_t mask = index_.size() - 1;
  for (size_t slot = high_bits(hash_of(key), index_bits_);; slot = (slot + 1) & mask) {
    const uint32_t number = index_[slot];
    if (number == 0) return insert(key, count, slot);
    Row& found = row(number - 1);
    if (found.key == key) {
      found.count += count;
      has_overflown_ |= found.count > kMaxCount;
      return;
    }
  }
}

void PieceTable::add_long(const uint8_t* p, size_t size, uint64_t count) {
  const uint64_t hash = hash_bytes(p, size);
  if (size_ * 2 >= index_.size()) grow_index();
  const size_t mask = index_.size() - 1;
  size_t slot = high_bits(hash * kHashLow, index_bits_);
  for (;; slot = (slot + 1) & mask) {
    const uint32_t number = index_[slot];
    if (number == 0) break;
    Row& found = row(number - 1);
    if (found.key.low != hash || (found.key.high & kLong) != kLong) continue;
    const std::string_view other = long_piece(found.key);
    if (other.size() == size && std::memcmp(other.data(), p, size) == 0) {
      found.count += count;
      has_overflown_ |= found.count > kMaxCount;
      return;
    }
  }
  if (page_left_ < size) {
    const size_t page = std::max(size, kLongPage);
    long_pages_.push_back(std::make_unique_for_overwrite<char[]>(page));
    page_at_ = long_pages_.back().get();
    page_left_ = page;
    long_bytes_ += page;
  }
  std::memcpy(page_at_, p, size);
  long_pieces_.emplace_back(page_at_, size);
  page_at_ += size;
  page_left_ -= size;
  insert({hash, kLong | (long_pieces_.size() - 1)}, count, slot);
}

void PieceTable::insert(const Key& key, uint64_t count, size_t slot) {
  if (size_ >= kMaxPieces) throw std::bad_alloc();
  if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique_for_overwrite<Row[]>(kChunk));
  row(size_) = {key, count};
  has_overflown_ |= count > kMaxCount;
  index_[slot] = static_cast<uint32_t>(++size_);
  bytes_ += (key.high & kLong) == kLong ? long_piece(key).size() : static_cast<size_t>(key.high >> 56);
}

void PieceTable::grow_index() {
  const unsigned bits = index_.empty() ? 12 : index_bits_ + 1;
  std::vector<uint32_t>().swap(index_);  // before the larger one is there: it is made from the rows
  index_.resize(size_t{1} << bits);
  index_bits_ = bits;
  const size_t mask = index_.size() - 1;
  for (size_t number = 0; number < size_; ++number) {
    size_t slot = high_bits(index_hash(row(number).key), bits);
    while (index_[slot]) slot = (slot + 1) & mask;
    index_[slot] = static_cast<uint32_t>(number + 1);
  }
}

void PieceTable::add_all(const PieceTable& other) {
  for (size_t number = 0; number < other.size_; ++number) {
    const Row& from = other.row(number);
    if ((from.key.high & kLong) == kLong) {
      const std::string_view piece = other.long_piece(from.key);
      add_long(reinterpret_cast<const uint8_t*>(piece.data()), piece.size(), from.count);
    } else {
      add(reinterpret_cast<const uint8_t*>(&from.key), static_cast<size_t>(from.key.high >> 56), 16, from.count);
    }
  }
  has_overflown_ |= other.has_overflown_;
}

bool PieceTable::add_block(Bytes block) {
  BlockReader reader(block);
  while (reader.next()) {
    const std::string_view piece = reader.piece();
    add({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()}, reader.count());
  }
  return !reader.is_damaged();
}

PieceTable::Piece PieceTable::operator[](size_t number) const {
  const Row& found = row(number);
  if ((found.key.high & kLong) == kLong) return {long_piece(found.key), found.count};
  return {{reinterpret_cast<const char*>(&found.key), static_cast<size_t>(found.key.high >> 56)}, found.count};
}

uint64_t PieceTable::memory() const {
  const bool grows_soon = size_ * 2 + 2 * kChunk >= index_.size();
  return chunks_.size() * kChunk * sizeof(Row) + (grows_soon ? 2 : 1) * index_.size() * sizeof(uint32_t) + long_bytes_ +
         long_pieces_.capacity() * sizeof(std::string_view);
}

void PieceTable::clear() {
  *this = PieceTable();
  return_memory();
}

void return_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

std::vector<uint32_t> PieceTable::sorted() const {
  struct Item {
    uint64_t first;  // eight bytes as a number: most comparisons end here
    uint32_t number;
  };
  std::vector<Item> items(size_);
  for (size_t number = 0; number < size_; ++number) {
    Key key = row(number).key;
    if ((key.high & kLong) == kLong) std::memcpy(&key.low, long_piece(key).data(), sizeof key.low);
    items[number] = {big_endian(key), static_cast<uint32_t>(number)};
  }
  std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    return a.first != b.first ? a.first < b.first : (*this)[a.number].bytes < (*this)[b.number].bytes;
  });
  std::vector<uint32_t> numbers(size_);
  for (size_t i = 0; i < size_; ++i) numbers[i] = items[i].number;
  return numbers;
}

// --- blocks ----------------------------------------------------------------------------------------------------------

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
  run.reader = BlockReader({reinterpret_cast<const uint8_t*>(run.block.data()), run.block.size()});
  return advance(number);
}

// Shows the next row of a run, which has to be above the one before; at the end of its block the run asks for another.
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
