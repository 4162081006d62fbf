// What the system gives: see memory.h.
#include "base/memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#include <unistd.h>
#endif

namespace tokcli {

#if defined(__linux__)
namespace {

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

void* allocate(size_t size, Pages pages) {
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  if (pages == Pages::kLarge) madvise(p, size, MADV_HUGEPAGE);
  return p;
}
void release(void* p, size_t size) { munmap(p, size); }

void make_pages(void* p, size_t size) {
#if defined(MADV_POPULATE_WRITE)
  madvise(p, size, MADV_POPULATE_WRITE);  // Linux 5.14; older ones refuse it
#else
  (void)p, (void)size;
#endif
}

void give_pages_back(void* p, size_t size) {
  const size_t page = page_size(), before = (page - reinterpret_cast<uintptr_t>(p) % page) % page;
  if (before + page <= size) madvise(static_cast<char*>(p) + before, (size - before) / page * page, MADV_DONTNEED);
}

void make_pages_in(void* p, size_t size) {
  const size_t page = page_size();
  const auto begin_of_page = [page](char* at) { return at - reinterpret_cast<uintptr_t>(at) % page; };
  char* const begin = static_cast<char*>(p);
  unsigned char is_there = 0;  // the last of the pages: those of memory that was freed and is used again are
  if (size == 0 || (mincore(begin_of_page(begin + size - 1), 1, &is_there) == 0 && is_there & 1)) return;
  make_pages(begin_of_page(begin), static_cast<size_t>(begin + size - begin_of_page(begin)));
}
#else
void* allocate(size_t size, Pages) {
  void* p = ::operator new(size, std::align_val_t{64});
  std::memset(p, 0, size);
  return p;
}
void release(void* p, size_t) { ::operator delete(p, std::align_val_t{64}); }
void make_pages(void*, size_t) {}  // all of it has been written
void give_pages_back(void*, size_t) {}
void make_pages_in(void*, size_t) {}
#endif

bool prepare_to_throw() noexcept {
  void* volatile room = std::malloc(size_t{1} << 14);  // volatile: or the compiler leaves out what is freed at once
  if (room == nullptr) return false;
  std::free(room);  // to this thread's part of the heap, from which the next call takes it
  [[maybe_unused]] volatile int thrown = std::uncaught_exceptions();
  return true;
}

void return_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// From 32 MiB on, the most that glibc allows here, an allocation still has pages of its own, which are given back; of
// smaller ones, up to 256 MiB are kept. (Both numbers fixed: by itself glibc raises them step by step.) All threads use one
// heap, which has what the thread before them has freed: each would else get a heap of its own, all of new pages, which
// grows by a system call for every few of them.
void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  mallopt(M_TOP_PAD, 1 << 22);
  mallopt(M_ARENA_MAX, 1);
#endif
}

#if defined(__unix__) || defined(__APPLE__)
namespace {

constexpr char kMessage[] =
    "Error: a vocabulary in the cache was cut off while it was in use\nRun the command again: it makes another one.\n";
constexpr int kExitError = 2;  // as errors.EXIT_ERROR

// The handler of SIGBUS. It may only call what a signal may interrupt: write, signal and _exit.
void on_bus_error(int number, siginfo_t* about, void*) {
  if (about->si_code != BUS_ADRERR) {  // broken memory: the same instruction fails again, and the system's way ends it
    signal(number, SIG_DFL);
    return;
  }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(kExitError);
}

}  // namespace

void end_when_files_are_cut() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}
#else
void end_when_files_are_cut() {}
#endif

}  // namespace tokcli
