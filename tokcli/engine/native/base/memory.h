// Memory from the system: large arrays that begin as zeros, what has been freed given back, mapped files, and what belongs
// to a thread.
#pragma once

#include <cstddef>
#include <memory>

namespace tokcli {

enum class Pages { kLarge, kSmall };  // of 2 MB where the system has them, or as it does by itself

// Allocates zeroed memory for a cache or a table, aligned to at least a cache line; std::bad_alloc.
//
// Caches are read at random places: with pages of 4 kB every second read waits until its address is translated (measured:
// counting 8 MB of mixed text took 19 ms/MB, and 14 in pages of 2 MB). What is written once from end to end is not asked for
// in such pages: in a virtual machine one costs 0.1 to 0.7 ms where the host has the memory at hand, and 6 to 14 ms where it
// has taken it back. Decoding 8 MB into them took 38 ms in one process and 143 ms in the next, and 51 to 75 ms in small ones.
void* allocate(size_t size, Pages pages = Pages::kLarge);
void release(void* p, size_t size);

// Makes the pages of `allocate`d memory now. Else a page that is first read is one of zeros that all share, and the first
// write to it needs another page, for which every other thread is interrupted (profile: 0.04 ms a page in a virtual
// machine; two threads took as long as one for half a megabyte). Does nothing where the system cannot.
void make_pages(void* p, size_t size);
// Does so with any memory of which all is to be written next; with memory that has been used before, nothing. (Measured:
// 1.8 µs a page of 4 kB, and 2.9 µs where each is made when it is first written.)
void make_pages_in(void* p, size_t size);

// Gives back the pages that lie within a part of `allocate`d memory, which may not be used again. Where the system
// cannot, nothing happens before all is released.
void give_pages_back(void* p, size_t size);

// Makes the pages of a buffer that is written from its beginning to its end, some before they are reached.
class PagesAhead {
 public:
  // To be called before more is written. `size` bytes of the buffer are written, `room` more may be.
  void reach(void* buffer, size_t size, size_t room) {
    if (buffer != buffer_) made_ = 0;
    buffer_ = buffer;
    if (size < made_ || room < kBlock) [[likely]] return;
    make_pages_in(static_cast<char*>(buffer) + size, kBlock);
    made_ = size + kBlock;
  }

 private:
  static constexpr size_t kBlock = size_t{1} << 18;
  void* buffer_ = nullptr;
  size_t made_ = 0;  // bytes from the beginning on that have pages
};

// Gives freed memory back to the system. glibc would keep it for later; elsewhere there is nothing to do.
void return_memory();

// From now on, freed memory is used again and not given back to the system: a new page of 4 kB costs 1 to 2 µs, in which
// 200 bytes and more are encoded (profile: a quarter of `encode --offsets byte`). For programs only: a library leaves the
// allocator of its process alone. Does nothing without glibc.
void keep_freed_memory();

// From now on, reading beyond the end of a mapped file (SIGBUS), which somebody cut off, ends the process with a line on
// standard error and status 2. For programs only: a library leaves the signals of its process alone.
void end_when_files_are_cut();

// Makes room for the exceptions of this thread, and returns whether there is memory for it. To be called before the
// thread throws or catches: glibc ends the process that has no memory for thread-local data when it first needs it.
bool prepare_to_throw() noexcept;

// An array that begins as zeros.
template <class T>
class ZeroedArray {
 public:
  explicit ZeroedArray(size_t count, Pages pages = Pages::kLarge)
      : data_(static_cast<T*>(allocate(count * sizeof(T), pages)), Free{count * sizeof(T)}) {}
  T& operator[](size_t i) { return data_[i]; }
  // To be called before most of the array is used: see make_pages.
  void make_pages() { tokcli::make_pages(data_.get(), data_.get_deleter().size); }

 private:
  struct Free {
    size_t size;
    void operator()(T* p) const { release(p, size); }
  };
  std::unique_ptr<T[], Free> data_;
};

}  // namespace tokcli
