// The Python face of the native backend: the only file that includes Python.h. It has no functions yet.
#include <nanobind/nanobind.h>

NB_MODULE(_native, module) { module.doc() = "tokcli's native backend"; }
