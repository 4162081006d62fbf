// Lists of ids, whose ints are made once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "base/memory.h"
#include "module/python_views.h"

namespace tokcli {

// Python's ints of the ids of a vocabulary, each made once: a list of ids then costs a reference for each id, not an
// object. (Profile: making the objects was half of the time from text to a list.) The GIL guards them; in a Python
// without a GIL, and for very large ids, they are made anew each time.
class IntCache {
 public:
  IntCache() = default;
  IntCache(const IntCache&) = delete;
  IntCache& operator=(const IntCache&) = delete;
  ~IntCache() {
    for (size_t i = 0; i < size_; ++i) Py_XDECREF(items_.get()[i]);
  }

  // Writes the ints of the first `count` of these ids to where no objects are; others, up to kAhead of them, follow later.
  // Returns how many it has written: fewer where there is no memory, and then Python's error is set.
  size_t write(std::span<const uint32_t> ids, size_t count, PyObject** to) {
    size_t i = 0;
    const auto put = [&](PyObject* item) { return (to[i++] = item) != nullptr || (--i, false); };
#ifndef Py_GIL_DISABLED
    uint32_t bits = 0;
    for (const uint32_t id : ids) bits |= id;
    if (bits < kMostKept) {
      if (bits >= size_) grow(std::bit_ceil(size_t{bits} + 1));
      PyObject** const items = items_.get();
      const auto put_kept = [&] {
        PyObject* const item = items[ids[i]];
        if (item == nullptr) [[unlikely]] return put(Py_XNewRef(items[ids[i]] = PyLong_FromUnsignedLong(ids[i])));
        Py_INCREF(item);
        to[i++] = item;
        return true;
      };
      const size_t hurried = std::min(count, ids.size() - std::min(ids.size(), kAhead));
      while (i < hurried) {
        __builtin_prefetch(&items[ids[i + kAhead]]);
        __builtin_prefetch(items[ids[i + kAhead / 2]], 1);
        if (!put_kept()) return i;
      }
      while (i < count && put_kept()) {}
      return i;
    }
#endif
    while (i < count && put(PyLong_FromUnsignedLong(ids[i]))) {}
    return i;
  }
  static constexpr size_t kAhead = 32;  // ids whose ints, anywhere in memory, are asked for in advance

 private:
  static constexpr size_t kMostKept = size_t{1} << 21;  // a vocabulary of few tokens may have an id of any size

  void grow(size_t size) {
    std::unique_ptr<PyObject*, Free> items(static_cast<PyObject**>(std::calloc(size, sizeof(PyObject*))));
    if (items == nullptr) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(items.get(), items_.get(), size_ * sizeof(PyObject*));
    items_ = std::move(items);
    size_ = size;
  }

  struct Free {
    void operator()(PyObject** p) const { std::free(p); }
  };
  std::unique_ptr<PyObject*, Free> items_;
  size_t size_ = 0;
};

// A list of ids that is made part by part. Until it is taken, no other code sees it: a signal handler or another thread
// may ask for all objects.
class IdList {
 public:
  explicit IdList(IntCache& ints) : ints_(ints), list_(owned<nb::list>(PyList_New(0))) { PyObject_GC_UnTrack(list_.ptr()); }
  IdList(const IdList&) = delete;
  IdList& operator=(const IdList&) = delete;

  // Appends ids, where `all` is about how many there will be in the end.
  void append(std::span<const uint32_t> ids, size_t all) {
    const size_t begin = size();
    if (begin + ids.size() > room_) set_room(std::max(begin + ids.size(), all));
    for (size_t at = 0; at < ids.size(); at += kBlock) {
      if (at % kBetweenSignals == kBetweenSignals - kBlock) check_signals();
      const size_t count = std::min(kBlock, ids.size() - at);
      PyObject** const to = list()->ob_item + begin + at;
      if (count == kBlock) make_pages_in(to, count * sizeof(PyObject*));
      const size_t done = ints_.write(ids.subspan(at, std::min(count + IntCache::kAhead, ids.size() - at)), count, to);
      set_size(begin + at + done);
      if (done < count) throw nb::python_error();
    }
  }
  nb::list take() {
    nb::list taken = take_untracked();
    PyObject_GC_Track(taken.ptr());
    return taken;
  }
  nb::list take_untracked() {
    if (room_ > size()) set_room(size());
    return std::move(list_);
  }

 private:
  static constexpr size_t kBlock = size_t{1} << 14;           // ids: what a list has of them stays in the L2 cache
  static constexpr size_t kBetweenSignals = size_t{1} << 20;  // ids: some 10 ms

  PyListObject* list() const { return reinterpret_cast<PyListObject*>(list_.ptr()); }
  size_t size() const { return static_cast<size_t>(PyList_GET_SIZE(list_.ptr())); }
  void set_size(size_t size) { Py_SET_SIZE(list(), static_cast<Py_ssize_t>(size)); }

  // Moves the items to where there is room for so many, as a list does when it grows or shrinks.
  void set_room(size_t room) {
#ifndef Py_GIL_DISABLED
    if (room > PY_SSIZE_T_MAX / sizeof(PyObject*)) throw std::bad_alloc();
    void* const items = PyMem_Realloc(list()->ob_item, room * sizeof(PyObject*));
    if (items == nullptr) throw std::bad_alloc();
    list()->ob_item = static_cast<PyObject**>(items);
    list()->allocated = static_cast<Py_ssize_t>(room);
#else  // there a list keeps its room in another way, and what is too much stays
    if (room < room_) return;
    nb::list larger = owned<nb::list>(PyList_New(static_cast<Py_ssize_t>(room)));
    PyObject_GC_UnTrack(larger.ptr());
    const size_t count = size();
    std::copy_n(list()->ob_item, count, reinterpret_cast<PyListObject*>(larger.ptr())->ob_item);
    set_size(0);
    list_ = std::move(larger);
    set_size(count);
#endif
    room_ = room;
  }

  IntCache& ints_;
  nb::list list_;
  size_t room_ = 0;
};

inline nb::list list_of(IntCache& ints, const uint32_t* ids, size_t count) {
  IdList list(ints);
  list.append({ids, count}, count);
  return list.take();
}

// A list of lists of ids. Python's garbage collector, which runs each time that so many lists have been made, would go
// through all their ids two or three times while more are made (measured: a third of the time of a batch). So it learns of
// the inner lists when all are there.
class IdLists {
 public:
  explicit IdLists(IntCache& ints) : ints_(ints), lists_(owned<nb::list>(PyList_New(0))) {}
  void append(std::span<const uint32_t> ids) {
    IdList list(ints_);
    list.append(ids, ids.size());
    lists_.append(list.take_untracked());
  }
  void append_none() { lists_.append(nb::none()); }
  nb::list take() {
    for (nb::handle list : lists_) {
      if (!list.is_none()) PyObject_GC_Track(list.ptr());
    }
    return std::move(lists_);
  }

 private:
  IntCache& ints_;
  nb::list lists_;
};

}  // namespace tokcli
