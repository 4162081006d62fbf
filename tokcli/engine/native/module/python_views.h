// Python's objects as native code takes and gives them. Everything here needs the GIL.
//
// Errors: TypeError for an object of the wrong type, OverflowError for an int that does not fit, ValueError for a
// buffer of the wrong size, UnicodeEncodeError for a lone surrogate.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/id_buffer.h"
#include "base/memory.h"
#include "module/gil.h"
#include "text/spans.h"
#include "text/text.h"

namespace tokcli {

namespace nb = nanobind;

// A buffer of another object, held for as long as this object lives.
class BufferView {
 public:
  explicit BufferView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~BufferView() { PyBuffer_Release(&view_); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  Bytes bytes() const { return {static_cast<const uint8_t*>(view_.buf), static_cast<size_t>(view_.len)}; }
  bool is_readonly() const { return view_.readonly != 0; }

 private:
  Py_buffer view_{};
};

// Returns the object whose memory a memoryview shows; any other object is its own.
inline nb::handle owner_of(nb::handle object) {
  const bool is_view = PyMemoryView_Check(object.ptr()) && PyMemoryView_GET_BASE(object.ptr()) != nullptr;
  return is_view ? nb::handle(PyMemoryView_GET_BASE(object.ptr())) : object;
}

// Returns whether the memory of an object never changes: that of bytes, and of the arrays that this module makes.
inline bool never_changes(nb::handle object) {
  return PyBytes_CheckExact(object.ptr()) || nb::isinstance<IdBuffer>(object) || nb::isinstance<Spans>(object);
}

// What may be read in place beside such objects: nothing, or a file that is mapped for reading.
enum class Mapped { kCopied, kInPlace };

// The bytes in a buffer, which stay as they are while they are read without the GIL: those of some objects and of
// memoryviews of these never change; those of any other are copied, since another thread may write to it meanwhile.
class StableView {
 public:
  explicit StableView(nb::handle object, Mapped mapped = Mapped::kCopied)
      : view_(std::make_unique<BufferView>(object)), bytes_(view_->bytes()) {
    const nb::handle owner = owner_of(object);
    if (never_changes(owner)) return;
    const bool is_mapped = view_->is_readonly() && std::string_view(Py_TYPE(owner.ptr())->tp_name) == "mmap.mmap";
    if (is_mapped && mapped == Mapped::kInPlace) return;
    uint8_t* const to = copy_.reserve(bytes_.size());
    if (bytes_.size() >= kMuch) make_pages_in(to, bytes_.size());
    if (!bytes_.empty()) std::memcpy(to, bytes_.data(), bytes_.size());
    copy_.commit(bytes_.size());
    bytes_ = {copy_.data(), copy_.size()};
    view_.reset();
  }
  Bytes bytes() const { return bytes_; }

 private:
  static constexpr size_t kMuch = size_t{1} << 18;  // bytes, whose pages are made at once
  std::unique_ptr<BufferView> view_;
  ByteBuffer copy_;
  Bytes bytes_;
};

// Returns a copy of the items in a buffer, which may be anywhere in memory; ValueError where its size does not fit
// them.
template <class T>
std::vector<T> items_of(nb::handle buffer) {
  const BufferView view(buffer);
  if (view.bytes().size() % sizeof(T)) {
    PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes does not hold items of %zd bytes",
                 static_cast<Py_ssize_t>(view.bytes().size()), static_cast<Py_ssize_t>(sizeof(T)));
    throw nb::python_error();
  }
  std::vector<T> items(view.bytes().size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), view.bytes().data(), view.bytes().size());
  return items;
}

// The ends of the pieces of a text (uint64), in a buffer; ValueError where they do not ascend to its end.
class PieceEnds {
 public:
  PieceEnds(nb::handle buffer, Bytes text) : view_(buffer) {
    const Bytes bytes = view_.bytes();
    if (bytes.size() % sizeof(uint64_t) != 0 || reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) {
      copy_ = items_of<uint64_t>(buffer);
      items_ = copy_;
    } else {
      items_ = {reinterpret_cast<const uint64_t*>(bytes.data()), bytes.size() / sizeof(uint64_t)};
    }
    uint64_t begin = 0;
    for (const uint64_t end : items_) {
      if (end <= begin || end > text.size()) throw nb::value_error("the ends of the pieces do not ascend within the text");
      begin = end;
    }
    if (begin != text.size()) throw nb::value_error("the last piece does not end with the text");
  }
  std::span<const uint64_t> items() const { return items_; }

 private:
  StableView view_;
  std::vector<uint64_t> copy_;
  std::span<const uint64_t> items_;
};

// Returns a copy of the bytes in a buffer.
inline std::string string_of(nb::handle buffer) { return std::string(view_of(BufferView(buffer).bytes())); }

// Returns a new bytes object with the bytes of some text, or of some items.
inline nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }
template <class T>
nb::bytes to_bytes(const std::vector<T>& items) {
  return nb::bytes(items.data(), items.size() * sizeof(T));
}

// Returns a new object that CPython has made; throws its error where it has made none.
template <class Object = nb::object>
Object owned(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal<Object>(made);
}

// Returns a new bytes object of `size` bytes, which are still to be written.
inline nb::bytes new_bytes(size_t size) {
  return owned<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
}

// What an item of a tuple is made of: an object, a bool or a number.
inline nb::object object_of(nb::object given) { return given; }
template <std::integral T>
nb::object object_of(T number) {
  if constexpr (std::is_same_v<T, bool>) return nb::bool_(number);
  else if constexpr (std::is_signed_v<T>) return owned(PyLong_FromLongLong(number));
  else return owned(PyLong_FromUnsignedLongLong(number));
}

// Returns a new tuple. (nb::make_tuple writes to a tuple that there was no memory for.)
template <class... Items>
nb::tuple tuple_of(Items... items) {
  std::array<nb::object, sizeof...(Items)> objects{object_of(std::move(items))...};
  const auto made = owned<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(objects.size())));
  for (size_t i = 0; i < objects.size(); ++i)
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), objects[i].release().ptr());
  return made;
}

// Returns a new bytes object of `size` bytes, which `write(out)` fills while other threads may run Python.
template <class Write>
nb::bytes written(size_t size, const Write& write) {
  const nb::bytes made = new_bytes(size);
  {
    char* out = PyBytes_AS_STRING(made.ptr());
    const ReleasedGil released;
    write(out);
  }
  return made;
}

// Returns a bytes object that nobody else has seen yet with another size; what is new is still to be written.
inline nb::bytes resized(nb::bytes made, size_t size) {
  PyObject* object = made.release().ptr();
  if (_PyBytes_Resize(&object, static_cast<Py_ssize_t>(size)) != 0) throw nb::python_error();
  return nb::steal<nb::bytes>(object);
}

[[noreturn]] inline void raise_wrong_type(const char* expected, nb::handle given) {
  PyErr_Format(PyExc_TypeError, "expected %s, not %s", expected, Py_TYPE(given.ptr())->tp_name);
  throw nb::python_error();
}

// Raises KeyError with an id that is no token.
[[noreturn]] inline void raise_unknown_id(uint32_t id) {
  PyErr_SetObject(PyExc_KeyError, nb::int_(id).ptr());
  throw nb::python_error();
}

// Returns a copy of a list, which no other thread can change while its items are read.
inline nb::list own_list(nb::list given) {
  return owned<nb::list>(PyList_GetSlice(given.ptr(), 0, PY_SSIZE_T_MAX));
}

// Returns the UTF-8 of a str, without a copy where CPython has it already.
inline Bytes utf8_of(nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) raise_wrong_type("str", text);
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size)};
}

// Returns a view of a str, valid as long as the str lives. ASCII is UTF-8 already; anything else is a view of code
// points.
inline Text text_of(nb::handle text) {
  PyObject* object = text.ptr();
  if (!PyUnicode_Check(object)) raise_wrong_type("str", text);
  if (PyUnicode_READY(object) != 0) throw nb::python_error();
  if (PyUnicode_IS_COMPACT_ASCII(object)) return Text::of(utf8_of(text));
  return {PyUnicode_DATA(object), static_cast<size_t>(PyUnicode_GET_LENGTH(object)),
          static_cast<uint8_t>(PyUnicode_KIND(object)), false};
}

// A str, or UTF-8 in a buffer, as text that stays as it is while it is read without the GIL.
class AnyText {
 public:
  explicit AnyText(nb::handle given) {
    if (!PyUnicode_Check(given.ptr()) && PyObject_CheckBuffer(given.ptr()) == 0)
      raise_wrong_type("str or a bytes-like object", given);
    if (!PyUnicode_Check(given.ptr())) buffer_.emplace(given);
    text_ = buffer_ ? Text::of(buffer_->bytes()) : text_of(given);
  }
  const Text& text() const { return text_; }
  bool is_buffer() const { return buffer_.has_value(); }

 private:
  std::optional<StableView> buffer_;
  Text text_;
};

// Defines how a class is called: with these arguments of its constructor, or as `make` does. An object is made before
// Python sees it. (nb::init constructs in an object that is there already: code that an argument runs, or another thread,
// could construct a second time in the same place.)
template <class T, class... Args>
auto made_of() {
  return nb::new_([](Args... args) { return new T(args...); });
}
template <class T, class... Args>
auto made_by(std::unique_ptr<T> (*make)(Args...)) {
  return nb::new_([make](Args... args) { return make(args...).release(); });
}

// A Python int as an argument. nanobind would raise TypeError for an int that does not fit T; this raises
// OverflowError, so that TypeError means nothing but a wrong type. It becomes a T in the function that uses it.
template <std::integral T>
class Number {
 public:
  Number() = default;
  explicit Number(nb::handle object) : object_(object) {}
  operator T() const {  // NOLINT: a number is used as one
    nb::object index;
    PyObject* whole = object_.ptr();
    if (!PyLong_Check(whole)) {
      index = owned(PyNumber_Index(whole));
      whole = index.ptr();
    }
    using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    Wide value;
    if constexpr (std::is_signed_v<T>) value = PyLong_AsLongLong(whole);
    else value = PyLong_AsUnsignedLongLong(whole);
    const bool has_failed = value == static_cast<Wide>(-1) && PyErr_Occurred() != nullptr;
    if (has_failed && !PyErr_ExceptionMatches(PyExc_OverflowError)) throw nb::python_error();
    if (has_failed || value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
      PyErr_Clear();
      constexpr int kBits = sizeof(T) * 8;
      const char* const sign = std::is_signed_v<T> ? "" : " without a sign";
      PyErr_Format(PyExc_OverflowError, "%R does not fit into %d bits%s", whole, kBits, sign);
      if (PyErr_ExceptionMatches(PyExc_ValueError)) {  // Python does not print a number of so many digits
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "a number of thousands of digits does not fit into %d bits%s", kBits, sign);
      }
      throw nb::python_error();
    }
    return static_cast<T>(value);
  }

 private:
  nb::handle object_;
};

// Returns an item of a Python container as a number of type T.
template <std::integral T>
T number_of(nb::handle object) {
  if (!PyIndex_Check(object.ptr())) raise_wrong_type("int", object);
  return Number<T>(object);
}

// Returns the choice with a number from 0 to `count` - 1; ValueError for any other number.
template <class Choice>
Choice choice_of(Number<int> given, int count) {
  const int number = given;
  if (number < 0 || number >= count) throw nb::value_error("there is no choice with this number");
  return static_cast<Choice>(number);
}

// Returns a copy of a mapping.
inline nb::dict dict_of(nb::handle mapping) {
  if (!PyMapping_Check(mapping.ptr())) raise_wrong_type("a mapping", mapping);
  nb::dict copy;
  if (PyDict_Update(copy.ptr(), mapping.ptr()) != 0) throw nb::python_error();
  return copy;
}

}  // namespace tokcli

namespace nanobind::detail {

template <class T>
struct type_caster<tokcli::Number<T>> {
  NB_TYPE_CASTER(tokcli::Number<T>, const_name("int"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (!PyIndex_Check(source.ptr())) return false;
    value = tokcli::Number<T>(source);
    return true;
  }
};

}  // namespace nanobind::detail
