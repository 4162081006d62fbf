// The image of a text model (pipeline/text_model.h): its tables lie in a mapped file as they do in memory, so that a
// model that was built once is opened without being read.
//
// A class lists its fields in one function, `fields(archive)`: a TextImageWriter writes them, a TextImageReader reads
// them. Small fields are copied, tables stay where they are. An image is not trusted: its checksum is verified first,
// and each class has a function `fits`, which returns whether all numbers that were read lead somewhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "base/bytes.h"

namespace tokcli {

constexpr uint32_t kTextImageVersion = 13;  // counted up with every change of what the classes write

// An array of items that are owned, or that lie in an image.
template <class T>
class Table {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  Table() = default;
  Table(std::vector<T> items) : owned_(std::move(items)), items_(owned_) {}  // NOLINT: as a vector is given
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  Table(Table&&) = default;  // (the items of a vector that is moved stay where they are)
  Table& operator=(Table&&) = default;
  static Table at(std::span<const T> items) {
    Table table;
    table.items_ = items;
    return table;
  }
  const T& operator[](size_t i) const { return items_[i]; }
  const T* data() const { return items_.data(); }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::span<const T> items() const { return items_; }

 private:
  std::vector<T> owned_;
  std::span<const T> items_;
};

// Writes the head of an image, with the checksum of what follows.
void seal(std::span<uint8_t> image);

class TextImageWriter {
 public:
  static constexpr bool kReads = false;
  template <class T>
  void plain(T& value) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    append(&value, sizeof value);
  }
  void flag(bool& value) {
    uint8_t byte = value;
    plain(byte);
  }
  template <class T>
  void choice(T& value, uint8_t) {
    auto byte = static_cast<uint8_t>(value);
    plain(byte);
  }
  void text(std::string& value) {
    size_t size = value.size();
    plain(size);
    append(value.data(), size);
  }
  template <class T>
  void table(Table<T>& table) {
    size_t size = table.size();
    plain(size);
    align();
    append(table.data(), size * sizeof(T));
  }
  std::vector<uint8_t> finish();

 private:
  friend class TextImageReader;
  static constexpr size_t kAlign = 16;
  void append(const void* from, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(from);
    out_.insert(out_.end(), bytes, bytes + size);
  }
  void align() { out_.resize((out_.size() + kAlign - 1) / kAlign * kAlign); }
  std::vector<uint8_t> out_ = std::vector<uint8_t>(kAlign * 2);  // magic, version, checksum
};

// Throws std::invalid_argument where an image is none, or ends too early.
class TextImageReader {
 public:
  static constexpr bool kReads = true;
  explicit TextImageReader(Bytes image);
  template <class T>
  void plain(T& value) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    std::memcpy(&value, take(sizeof value), sizeof value);
  }
  void flag(bool& value) {
    choice(value, 2);
  }
  template <class T>
  void choice(T& value, uint8_t count) {
    uint8_t byte = 0;
    plain(byte);
    if (byte >= count) fail();
    value = static_cast<T>(byte);
  }
  void text(std::string& value) {
    size_t size = 0;
    plain(size);
    const uint8_t* from = take(size);
    value.assign(reinterpret_cast<const char*>(from), size);
  }
  template <class T>
  void table(Table<T>& table) {
    size_t size = 0;
    plain(size);
    at_ = std::min((at_ + TextImageWriter::kAlign - 1) / TextImageWriter::kAlign * TextImageWriter::kAlign, image_.size());
    if (size > image_.size() / sizeof(T)) fail();
    table = Table<T>::at({reinterpret_cast<const T*>(take(size * sizeof(T))), size});
  }
  bool is_at_end() const { return at_ == image_.size(); }

 private:
  [[noreturn]] static void fail() { throw std::invalid_argument("not an image of a text model"); }
  const uint8_t* take(size_t size) {
    if (size > image_.size() - at_) fail();
    const uint8_t* from = image_.data() + at_;
    at_ += size;
    return from;
  }
  Bytes image_;
  size_t at_ = 0;
};

}  // namespace tokcli
