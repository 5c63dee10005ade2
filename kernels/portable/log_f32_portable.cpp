#include "kernels/portable/vec_scalar.h"

#include "kernels/generic/elementwise.h"
#include "kernels/generic/math.h"

extern "C" void log_f32_portable(const UnaryF32Args& args) {
  Map(args, [](F x) { return Log(x); });
}
