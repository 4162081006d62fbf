// Python's objects as the native code takes and gives them, for the files that include Python.h.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <vector>

#include "text.h"

namespace tokcli {

namespace nb = nanobind;

// A buffer of another object, for as long as this one lives.
class BufferView {
 public:
  explicit BufferView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~BufferView() { PyBuffer_Release(&view_); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  Bytes bytes() const { return {static_cast<const uint8_t*>(view_.buf), static_cast<size_t>(view_.len)}; }

 private:
  Py_buffer view_{};
};

// The UTF-8 of a str, without a copy where CPython has it; UnicodeEncodeError for a lone surrogate.
inline Bytes utf8_of(nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) throw nb::type_error("expected str");
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size)};
}

// A str as it is held, for as long as it lives: ASCII is UTF-8 already, and so is what CPython made UTF-8 of before.
inline Text text_of(nb::handle text) {
  PyObject* object = text.ptr();
  if (!PyUnicode_Check(object)) throw nb::type_error("expected str");
  if (PyUnicode_READY(object) != 0) throw nb::python_error();
  if (PyUnicode_IS_COMPACT_ASCII(object)) return Text::of(utf8_of(text));
  return {PyUnicode_DATA(object), static_cast<size_t>(PyUnicode_GET_LENGTH(object)),
          static_cast<uint8_t>(PyUnicode_KIND(object)), false};
}

// Python's ints of the ids of a vocabulary, each made once: a list of ids then costs a reference for each, not an object.
// (Profile: making the objects was half of the time from text to a list.) The GIL guards them; without a GIL they are
// made anew.
class Ints {
 public:
  Ints() = default;
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;
  ~Ints() {
    for (PyObject* item : items_) Py_XDECREF(item);
  }

  nb::list list_of(const uint32_t* ids, size_t count) {
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(count)));
    if (!list) throw nb::python_error();
    for (size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) prefetch(ids[i + kAhead]);
      PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), make(ids[i]));
    }
    return nb::borrow<nb::list>(list);
  }

 private:
  static constexpr size_t kAhead = 16;  // ids: their objects lie anywhere in memory

  void prefetch(uint32_t id) const {
    if (id < items_.size()) __builtin_prefetch(items_[id], 1);
  }
  PyObject* make(uint32_t id) {
#ifndef Py_GIL_DISABLED
    if (id >= items_.size()) items_.resize(std::max<size_t>(id + 1, 2 * items_.size()));
    if (PyObject*& item = items_[id]; item != nullptr || (item = PyLong_FromUnsignedLong(id)) != nullptr) {
      Py_INCREF(item);
      return item;
    }
#else
    if (PyObject* item = PyLong_FromUnsignedLong(id)) return item;
#endif
    throw nb::python_error();
  }

  std::vector<PyObject*> items_;
};

}  // namespace tokcli
