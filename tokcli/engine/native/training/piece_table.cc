// Counting and sorting pieces: see piece_table.h.
#include "training/piece_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/memory.h"
#include "base/watch.h"
#include "pretokenizers/pieces.h"

namespace tokcli {
namespace {

constexpr size_t kLongPage = size_t{1} << 16;  // bytes of memory that long pieces share
constexpr size_t kRoom = 512;  // pieces that are found at a time

// Returns the first eight bytes of a key as a number: smaller ones come first in the order of bytes.
uint64_t big_endian(const Key& key) {
  uint64_t out = 0;
  for (unsigned i = 0; i < 8; ++i) out = out << 8 | (key.low >> 8 * i & 0xFF);
  return out;
}

}  // namespace

bool PieceTable::count_text(const Splitting& by, Bytes text) {
  std::array<const uint8_t*, kRoom + kWindow> ends;
  const uint8_t *p = text.data(), *end = p + text.size();
  return with_finder(by, text, [&](const auto& find_ends) {
    while (p < end) {
      const size_t found = find_ends(p, ends.data(), kRoom);
      if (found == 0) return;  // the pattern has failed
      work_done(static_cast<size_t>(ends[found - 1] - p));
      for (size_t i = 0; i < found; ++i) {
        add(p, static_cast<size_t>(ends[i] - p), static_cast<size_t>(end - p), 1);
        p = ends[i];
      }
    }
  });
}

void PieceTable::count_split(Bytes text, std::span<const uint64_t> ends) {
  uint64_t begin = 0;
  Pace pace;
  for (const uint64_t end : ends) {
    pace.step(end - begin);
    add(text.data() + begin, end - begin, text.size() - begin, 1);
    begin = end;
  }
}

void PieceTable::add(const uint8_t* p, size_t size, size_t readable, uint64_t count) {
  if (size == 0 || count == 0) return;
  if (size > kKeyBytes) return add_long(p, size, count);
  const Key key = key_of(p, size, readable);
  if (size_ * 2 >= index_.size()) grow_index();
  const size_t mask = index_.size() - 1;
  for (size_t slot = high_bits(seeded_hash(key, seed_), index_bits_);; slot = (slot + 1) & mask) {
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
  const uint64_t hash = hash_bytes(p, size, seed_.low);
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
  const unsigned bits = index_bits_ == 0 ? 12 : index_bits_ + 1;
  // The larger one is made from the rows, so the old one goes first. Where there is no memory for the larger one, there
  // is no index, and the next piece tries again.
  std::vector<uint32_t>().swap(index_);
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
  Pace pace;
  for (size_t number = 0; number < other.size_; ++number) {
    pace.step(16);
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

std::vector<uint32_t> PieceTable::sorted() const {
  struct Item {
    uint64_t first;  // the first eight bytes as a number: most comparisons end here
    uint32_t number;
  };
  std::vector<Item> items(size_);
  for (size_t number = 0; number < size_; ++number) {
    Key key = row(number).key;
    if ((key.high & kLong) == kLong) std::memcpy(&key.low, long_piece(key).data(), sizeof key.low);
    items[number] = {big_endian(key), static_cast<uint32_t>(number)};
  }
  Pace pace;
  std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    pace.step();
    return a.first != b.first ? a.first < b.first : (*this)[a.number].bytes < (*this)[b.number].bytes;
  });
  std::vector<uint32_t> numbers(size_);
  for (size_t i = 0; i < size_; ++i) numbers[i] = items[i].number;
  return numbers;
}

}  // namespace tokcli
