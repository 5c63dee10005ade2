// Times one micro-kernel on the calls of one layer, for `./inv bench.kernels`.
#ifndef TRIMTAB_BINDINGS_KERNEL_TIMER_H_
#define TRIMTAB_BINDINGS_KERNEL_TIMER_H_

#include <map>
#include <string>

#include "kernels/kernel_api.h"

namespace trimtab {

// The sizes of a layer; trimtab/planner/kernel_calls.py defines those of each type of arguments.
using LayerSizes = std::map<std::string, size_t>;

// Nanoseconds per pass over the layer: the mean of passes that together take `least_ns`, after one
// warm-up. `args_type`: the type of the kernel's arguments. Throws std::out_of_range if a size is
// missing, std::invalid_argument for an unknown type.
double TimeKernel(KernelFunction kernel, const std::string& args_type, const LayerSizes& sizes,
                  double least_ns);

}  // namespace trimtab

#endif  // TRIMTAB_BINDINGS_KERNEL_TIMER_H_
