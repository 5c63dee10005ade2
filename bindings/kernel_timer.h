// Times one micro-kernel on the calls that a layer makes of it, for `./inv bench.kernels`.
#ifndef TRIMTAB_BINDINGS_KERNEL_TIMER_H_
#define TRIMTAB_BINDINGS_KERNEL_TIMER_H_

#include <map>
#include <string>

#include "kernels/kernel_api.h"

namespace trimtab {

// What a layer looks like to a kernel; trimtab/planner/kernel_calls.py says which sizes a type of
// arguments has.
using LayerSizes = std::map<std::string, size_t>;

// Nanoseconds of one pass over the layer, the mean of as many passes as take `least_ns`, after one
// to warm up. `args_type`: the type of the kernel's arguments. Throws std::out_of_range when a size
// is missing, std::invalid_argument for a type that it does not know.
double TimeKernel(KernelFunction kernel, const std::string& args_type, const LayerSizes& sizes,
                  double least_ns);

}  // namespace trimtab

#endif  // TRIMTAB_BINDINGS_KERNEL_TIMER_H_
