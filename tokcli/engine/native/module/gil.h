// Working without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <pthread.h>
#endif

#include "base/watch.h"

namespace tokcli {

// Takes the GIL back. Where the interpreter is ending, CPython before 3.14 ends every other thread that asks for the GIL
// as pthread_exit does: by an exception that no handler may end, and that destructors, being noexcept, do not let pass:
// the process would abort. So the thread stops here for good, and the process ends without it.
inline void take_gil_back(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

// Returns whether Python runs signal handlers in this thread; true where that is not known.
inline bool may_handle_signals() {
#if defined(__linux__)
  return syscall(SYS_gettid) == getpid();
#elif defined(__APPLE__)
  return pthread_main_np() != 0;
#else
  return true;
#endif
}

// Runs signal handlers; throws what one of them raises. Needs the GIL.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// For as long as this lives, other threads may run Python, and long work in this one is interrupted for signal handlers:
// with Ctrl-C it ends with KeyboardInterrupt.
class ReleasedGil : private Watch::Poll {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()), watch_(this), watched_(&watch_, true) {}
  ~ReleasedGil() { take_gil_back(state_); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  // Calls `work` with the GIL; only for the thread that made this.
  template <class Work>
  void with_gil(const Work& work) {
    take_gil_back(state_);
    struct Again {  // also where the work throws
      PyThreadState*& state;
      ~Again() { state = PyEval_SaveThread(); }
    } again{state_};
    work();
  }

 private:
  void poll() override {
    if (may_handle_signals()) with_gil(check_signals);
  }
  PyThreadState* state_;
  Watch watch_;
  Watched watched_;
};

}  // namespace tokcli
