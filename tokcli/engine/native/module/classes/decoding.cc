// The bytes of tokens go to a buffer that stays in the L1 cache, and from there straight into the answer, which gets a little
// more room than a sample of the ids makes likely. So no page of memory is written but those of the answer. (Profile: new
// pages take up to half of the time from 2 million ids to a str, and a quarter of them were a buffer for all of its bytes.
// Reading all ids twice, first to measure, took longer than such a buffer.)
#include "module/classes/decoding.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/memory.h"
#include "input/valid_utf8.h"

namespace tokcli {
namespace {

constexpr size_t kAtOnce = 64;  // ids whose bytes are asked for before the first of them are copied
constexpr size_t kAhead = 16;   // ids whose objects are asked for in advance: they are anywhere in memory
constexpr size_t kShort = 16;   // bytes that are copied of a token, whatever its size, where they may be read
constexpr size_t kIdsBetweenSignals = size_t{1} << 20;  // (a multiple of kAtOnce)
constexpr size_t kChunk = size_t{1} << 13;              // bytes
constexpr size_t kMostCut = 3;                          // bytes of a character that the end of a chunk cuts
constexpr double kMore = 1.06;                          // times the likely size: a sample of few ids may be wrong by that
constexpr size_t kSampled = 32;                         // of so many batches of ids, one is in the sample

// Reads an int that may be an id. Returns false for any other object, and for an int that does not fit.
bool read_id(PyObject* item, uint32_t* id) {
  if (!PyLong_Check(item)) [[unlikely]] return false;
#if PY_VERSION_HEX >= 0x030C0000
  const auto* const number = reinterpret_cast<const PyLongObject*>(item);
  if (PyUnstable_Long_IsCompact(number)) [[likely]] {
    const Py_ssize_t value = PyUnstable_Long_CompactValue(number);
    *id = static_cast<uint32_t>(value);
    return value >= 0;
  }
#endif
  const unsigned long value = PyLong_AsUnsignedLong(item);
  if (value == static_cast<unsigned long>(-1)) PyErr_Clear();
  *id = static_cast<uint32_t>(value);
  return value <= UINT32_MAX;
}

// The ids in a list or tuple, as the bytes of their tokens. While its items are ints, nothing here runs Python code that
// could change a list, but for signal handlers.
class TokenReader {
 public:
  TokenReader(const Vocabulary& vocabulary, nb::handle items) : vocabulary_(vocabulary), items_(items.ptr()) {}
  size_t count() const { return static_cast<size_t>(PySequence_Fast_GET_SIZE(items_)); }

  // Appends the bytes of at most kAtOnce ids, from number `first` on. Returns false where one is no id of a token.
  bool append(size_t first, ByteBuffer* out) const {
    PyObject* const* const items = PySequence_Fast_ITEMS(items_) + first;
    const size_t left = count() - first, some = std::min(left, kAtOnce);
    std::array<std::string_view, kAtOnce> tokens;
    size_t bytes = 0;
    for (size_t k = 0; k < some; ++k) {
      if (k + kAhead < left) __builtin_prefetch(items[k + kAhead]);
      uint32_t id;
      if (!read_id(items[k], &id) || !vocabulary_.token(id, &tokens[k])) [[unlikely]] return false;
      __builtin_prefetch(tokens[k].data());
      bytes += tokens[k].size();
    }
    uint8_t* to = out->reserve(bytes + kShort);
    for (const std::string_view token : std::span(tokens).first(some)) {
      if (token.size() <= kShort && vocabulary_.may_read(token.data(), kShort)) [[likely]]
        std::memcpy(to, token.data(), kShort);
      else std::memcpy(to, token.data(), token.size());
      to += token.size();
    }
    out->commit(bytes);
    return true;
  }

  // Calls take(bytes, whether they are the last) with about kChunk bytes at a time. It returns how many of them it has
  // taken, and gets the rest again, or kRefused. Returns false where it does, or an item is no id of a token.
  static constexpr size_t kRefused = SIZE_MAX;
  template <class Take>
  bool each_chunk(const Take& take) const {
    ByteBuffer chunk;
    for (size_t i = 0;; i += kAtOnce) {
      if (i % kIdsBetweenSignals == kIdsBetweenSignals - kAtOnce) check_signals();
      const bool is_last = i >= count();
      if (!is_last && !append(i, &chunk)) return false;
      if (!is_last && chunk.size() < kChunk) continue;
      const size_t taken = take(Bytes{chunk.data(), chunk.size()}, is_last);
      if (taken == kRefused || is_last) return is_last && taken == chunk.size();
      const size_t left = chunk.size() - taken;
      std::memmove(chunk.data(), chunk.data() + taken, left);
      chunk.clear();
      chunk.commit(left);
    }
  }

  // Returns what all of the text is like, as a sample makes likely, and a little more of it: room that is not used costs
  // nothing. The largest character is certain to be there, if the text is UTF-8.
  struct Likely {
    size_t bytes;
    CodePoints points;
  };
  Likely likely() const {
    ByteBuffer sample;
    size_t ids = 0;
    for (size_t i = 0; i < count() && append(i, &sample); i += kAtOnce * kSampled) ids += std::min(count() - i, kAtOnce);
    const CodePoints points = points_in({sample.data(), sample.size()});
    const double times = static_cast<double>(count()) / static_cast<double>(std::max<size_t>(ids, 1)) * kMore;
    const auto of_all = [&](size_t some) { return static_cast<size_t>(static_cast<double>(some) * times) + kChunk; };
    return {of_all(sample.size()), {of_all(points.count), points.most}};
  }

 private:
  const Vocabulary& vocabulary_;
  PyObject* items_;
};

// Returns what can be read in place: a list or a tuple; any other sequence as a tuple.
nb::object items_in_place(nb::handle ids) {
#ifndef Py_GIL_DISABLED
  if (PyList_CheckExact(ids.ptr())) return nb::borrow(ids);
#endif
  return owned(PySequence_Tuple(ids.ptr()));  // (a tuple is its own)
}

// Returns the bytes of ids that are objects of any kind, one after another; raises what is wrong with them.
[[gnu::noinline, gnu::cold]] ByteBuffer bytes_one_by_one(const Vocabulary& vocabulary, nb::handle ids) {
  const nb::object items = owned(PySequence_Tuple(ids.ptr()));  // which no code that an item runs can change
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(items.ptr()));
  ByteBuffer out;
  for (size_t i = 0; i < count; ++i) {
    if (i % kIdsBetweenSignals == kIdsBetweenSignals - 1) check_signals();
    PyObject* const item = PyTuple_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i));
    uint32_t id;
    if (!read_id(item, &id)) id = number_of<uint32_t>(item);
    std::string_view token;
    if (!vocabulary.token(id, &token)) raise_unknown_id(id);
    append(token, &out);
  }
  return out;
}

// A str that is written from its beginning to its end.
class StrWriter {
 public:
  // Makes room for so many characters, of which the largest is known to come.
  explicit StrWriter(const CodePoints& room) { make(room); }

  // Appends UTF-8, in which there are these code points.
  void add(Bytes utf8, const CodePoints& points) {
    most_ = std::max(most_, points.most);
    if (points.most > room_.most || points.count > room_.count - size_) [[unlikely]] grow(points);
    const auto kind = static_cast<size_t>(PyUnicode_KIND(made_.ptr()));
    pages_.reach(PyUnicode_DATA(made_.ptr()), size_ * kind, (room_.count - size_) * kind);
    from_utf8(utf8, room_.most, at(size_));
    size_ += points.count;
  }
  // Returns the str; none where the character that was to come did not: it would be wider than Python allows.
  std::optional<nb::object> finish() {
    if (most_ != room_.most) return std::nullopt;
    if (size_ != room_.count) resize(size_);
    return std::move(made_);
  }

 private:
  void* at(size_t place) const {
    return static_cast<uint8_t*>(PyUnicode_DATA(made_.ptr())) + place * PyUnicode_KIND(made_.ptr());
  }
  void make(const CodePoints& room) {
    made_ = owned(PyUnicode_New(static_cast<Py_ssize_t>(room.count), room.most));
    room_ = room;
  }
  void resize(size_t count) {
    PyObject* object = made_.release().ptr();
    const int failed = PyUnicode_Resize(&object, static_cast<Py_ssize_t>(count));
    made_ = nb::steal(object);
    if (failed) throw nb::python_error();
    room_.count = count;
  }
  // Makes room for more characters, or for wider ones. (The sample has the largest character of nearly all texts.)
  [[gnu::noinline, gnu::cold]] void grow(const CodePoints& points) {
    const size_t wanted = points.count > room_.count - size_ ? size_ + points.count + room_.count / 2 : room_.count;
    if (points.most <= room_.most) return resize(wanted);
    const nb::object before = std::move(made_);
    make({wanted, points.most});
    if (PyUnicode_CopyCharacters(made_.ptr(), 0, before.ptr(), 0, static_cast<Py_ssize_t>(size_)) < 0) throw nb::python_error();
  }

  nb::object made_;
  PagesAhead pages_;
  CodePoints room_{};
  size_t size_ = 0;       // characters that are written
  uint32_t most_ = 0x7F;  // a bound of the largest of them
};

}  // namespace

nb::bytes bytes_of_ids(const Vocabulary& vocabulary, nb::handle ids) {
  const nb::object items = items_in_place(ids);
  const TokenReader reader(vocabulary, items);
  std::optional<nb::bytes> made;
  size_t size = 0, room = 0;
  PagesAhead pages;
  const bool are_tokens = reader.each_chunk([&](Bytes chunk, bool is_last) {
    if (!made) made = new_bytes(room = is_last ? chunk.size() : reader.likely().bytes);
    if (chunk.size() > room - size) [[unlikely]] made = resized(*std::move(made), room += chunk.size() + room / 2);
    pages.reach(PyBytes_AS_STRING(made->ptr()), size, room - size);
    if (!chunk.empty()) std::memcpy(PyBytes_AS_STRING(made->ptr()) + size, chunk.data(), chunk.size());
    size += chunk.size();
    return chunk.size();
  });
  if (are_tokens) return resized(*std::move(made), size);
  const ByteBuffer bytes = bytes_one_by_one(vocabulary, ids);
  return to_bytes(view_of({bytes.data(), bytes.size()}));
}

// CPython widens its string with the first character that needs more room, and copies what is there; here a sample says
// which room the characters need. (Profile: three times as fast for code with a few characters outside ASCII.)
nb::object text_of_ids(const Vocabulary& vocabulary, nb::handle ids) {
  const nb::object items = items_in_place(ids);
  const TokenReader reader(vocabulary, items);
  std::optional<StrWriter> writer;
  const bool is_text = reader.each_chunk([&](Bytes chunk, bool is_last) {
    const size_t size = valid_utf8(chunk);  // the next chunk goes on with a character that this one cuts
    if (chunk.size() - size > kMostCut) return TokenReader::kRefused;
    const CodePoints points = points_in(chunk.first(size));
    if (!writer) writer.emplace(is_last ? points : reader.likely().points);
    writer->add(chunk.first(size), points);
    return size;
  });
  if (is_text) {
    if (auto made = writer->finish()) return *made;
  }
  const ByteBuffer bytes = bytes_one_by_one(vocabulary, ids);
  return owned(PyUnicode_DecodeUTF8(view_of({bytes.data(), bytes.size()}).data(), static_cast<Py_ssize_t>(bytes.size()),
                                    "replace"));
}

}  // namespace tokcli
