#include "generated/attributes/cast.h"

#include <string.h>

#include "generated/element_sizes.h"
#include "runtime/core/copy.h"
#include "runtime/core/operator.h"

namespace trimtab {
namespace {

constexpr size_t kAtOnce = 256;  // elements in a local array

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kF64;
}

bool IsSigned(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32;
}

// All pairs of types convert through float or int64: one loop per type instead of one per pair.
union Wide {
  float f[kAtOnce];
  int64_t i[kAtOnce];
};

// Converts between float types directly: programs in f16 begin and end with it.
template <typename From, typename To>
void Convert(const From* __restrict x, size_t n, To* __restrict y) {
  constexpr size_t kRun = 16;  // a run that compilers vectorize even when they optimize for size
  for (; n >= kRun; n -= kRun, x += kRun, y += kRun) {
    for (size_t i = 0; i < kRun; ++i) y[i] = static_cast<float>(x[i]);
  }
  for (size_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

void LoadWide(const Tensor& x, size_t begin, size_t n, Wide* wide) {
  switch (x.dtype) {
    case DType::kF32:
      memcpy(wide->f, static_cast<const float*>(x.raw) + begin, n * sizeof(float));
      break;
    case DType::kF16:
      Convert(static_cast<const Half*>(x.raw) + begin, n, wide->f);
      break;
    case DType::kF64:
      if constexpr (kHasDoubles) {
        const double* const from = static_cast<const double*>(x.raw) + begin;
        for (size_t i = 0; i < n; ++i) wide->f[i] = static_cast<float>(from[i]);
      }
      break;
    default: {
      // Little-endian: the low bytes come first. The sign is in the highest bit that is read.
      const size_t bytes = x.element_size();
      const size_t above = IsSigned(x.dtype) ? 64 - 8 * bytes : 0;
      const uint8_t* from = static_cast<const uint8_t*>(x.raw) + begin * bytes;
      for (size_t i = 0; i < n; ++i, from += bytes) {
        uint64_t value = 0;
        CopyElement(&value, from, bytes);
        wide->i[i] = static_cast<int64_t>(value << above) >> above;
      }
      break;
    }
  }
}

// Rounds toward zero and saturates to int64; NaN becomes the minimum, as on x86.
int64_t Truncated(float value) {
  if (value >= 0x1p63f) return INT64_MAX;
  return value >= -0x1p63f ? static_cast<int64_t>(value) : INT64_MIN;
}

void StoreWide(const Wide& wide, size_t begin, size_t n, Tensor* y) {
  switch (y->dtype) {
    case DType::kF32:
      memcpy(static_cast<float*>(y->raw) + begin, wide.f, n * sizeof(float));
      break;
    case DType::kF16:
      Convert(wide.f, n, static_cast<Half*>(y->raw) + begin);
      break;
    case DType::kF64:
      if constexpr (kHasDoubles) {
        double* const to = static_cast<double*>(y->raw) + begin;
        for (size_t i = 0; i < n; ++i) to[i] = static_cast<double>(wide.f[i]);
      }
      break;
    default: {
      const size_t bytes = y->element_size();
      uint8_t* to = static_cast<uint8_t*>(y->raw) + begin * bytes;
      for (size_t i = 0; i < n; ++i, to += bytes) {
        const int64_t value = y->dtype == DType::kBool ? wide.i[i] != 0 : wide.i[i];
        CopyElement(to, &value, bytes);
      }
      break;
    }
  }
}

class Cast final : public OperatorOf<CastAttributes> {
 public:
  void Run(ThreadPool& pool) override {
    const Tensor& x = input(0);
    Tensor& y = output();
    const bool from_float = IsFloat(x.dtype), to_float = IsFloat(y.dtype);
    const auto count = static_cast<size_t>(x.Count());
    pool.For(count, 1, [&](size_t begin, size_t end, int) {
      if (x.dtype == DType::kF32 && y.dtype == DType::kF16)
        return Convert(x.data<float>() + begin, end - begin, y.data<Half>() + begin);
      if (x.dtype == DType::kF16 && y.dtype == DType::kF32)
        return Convert(x.data<Half>() + begin, end - begin, y.data<float>() + begin);
      Wide wide;
      for (size_t at = begin; at < end; at += kAtOnce) {
        const size_t n = end - at < kAtOnce ? end - at : kAtOnce;
        LoadWide(x, at, n, &wide);
        if (from_float && !to_float) {
          // From the end: an int64 overlaps two floats.
          for (size_t i = n; i-- > 0;) {
            const float value = wide.f[i];
            wide.i[i] = y.dtype == DType::kBool ? value != 0 : Truncated(value);
          }
        } else if (!from_float && to_float) {
          for (size_t i = 0; i < n; ++i) {
            const int64_t value = wide.i[i];
            wide.f[i] = static_cast<float>(value);
          }
        }
        StoreWide(wide, at, n, &y);
      }
    });
  }

 protected:
  Status InferShape() override {
    static constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kI8,   DType::kU8,
                                       DType::kI32, DType::kI64, DType::kBool, DType::kF64,
                                       DType::kI16, DType::kU16, DType::kU32};
    output().dims = input(0).dims;
    output().dtype = kTypes[static_cast<int>(attributes().to)];
    return Status();
  }
};

}  // namespace
}  // namespace trimtab

TRIMTAB_OPERATOR(Cast)
