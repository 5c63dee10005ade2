#include "generated/attributes/average_pool.h"

#include "runtime/ops/mean_window.h"
#include "runtime/ops/pool.h"

namespace trimtab {
namespace {

template <typename T>
class AveragePool final : public Pool<AveragePoolAttributes, NameHash("average_pool"), T> {
 public:
  void Run(ThreadPool& pool) override {
    const MeanWindow counts(this->window_, this->input(0), this->output(),
                            this->attributes().count_include_pad);
    this->RunRows(0.0f, pool, [&](const auto& piece, PoolArgs<T>* args) {
      float scale[RowDriver<T>::kMaxPixels];
      counts.Scales(piece, 1.0f, scale);
      args->scale = scale;
      this->kernel_(*args);
    });
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_TYPED_OPERATOR(AveragePool, float, F32)
TRIMTAB_TYPED_OPERATOR(AveragePool, Half, F16)
