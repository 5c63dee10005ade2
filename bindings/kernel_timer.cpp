#include "bindings/kernel_timer.h"

#include <chrono>
#include <stdexcept>

#include "bindings/kernel_passes/pass.h"

namespace trimtab {

double TimeKernel(KernelFunction kernel, const std::string& args_type, const LayerSizes& sizes,
                  double least_ns) {
  const PassMaker* maker = PassMaker::first;
  while (maker != nullptr && args_type != maker->args_type) maker = maker->next;
  if (maker == nullptr) throw std::invalid_argument("no timer for " + args_type);
  const Pass pass = maker->make(kernel, sizes);
  pass();
  for (size_t passes = 1;; passes *= 2) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < passes; ++i) pass();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    if (taken.count() >= least_ns) return taken.count() / static_cast<double>(passes);
  }
}

}  // namespace trimtab
