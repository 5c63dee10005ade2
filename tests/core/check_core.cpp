// The parts of the core that no model reaches: the registry's run-time side, dimensions at their
// limits, the memory plan against a plain definition of what is right.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/memory_plan.h"
#include "runtime/core/registry.h"
#include "runtime/core/tensor.h"

namespace {

using trimtab::Buffer;
using trimtab::Code;
using trimtab::Dims;
using trimtab::OperatorRow;

int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  printf("FAILED: %s\n", what);
  ++failures;
}

void CheckRegistry() {
  static OperatorRow plugin = trimtab::kOperatorTable[0];
  plugin.id = 60000;
  plugin.name = "check_plugin";
  Expect(trimtab::FindOperator(60000) == nullptr, "an operator nobody registered is not found");
  Expect(trimtab::RegisterOperator(plugin).ok(), "a new operator can be registered");
  Expect(trimtab::FindOperator(60000) == &plugin, "a registered operator is found");

  static OperatorRow same_name = plugin;
  same_name.id = 60001;
  Expect(trimtab::RegisterOperator(same_name).code() == Code::kBadArgument,
         "a name is registered once");
  static OperatorRow same_id = plugin;
  same_id.name = "other";
  Expect(trimtab::RegisterOperator(same_id).code() == Code::kBadArgument,
         "an id is registered once");
  static OperatorRow built_in = trimtab::kOperatorTable[0];
  Expect(trimtab::RegisterOperator(built_in).code() == Code::kBadArgument,
         "a built-in operator is not replaced");
  Expect(trimtab::FindOperator(60000) == &plugin, "a refused registration changes nothing");
}

void CheckDims() {
  Dims dims;
  Expect(dims.Count() == 1, "a scalar has one element");
  dims.rank = 4;
  for (int i = 0; i < 4; ++i) dims[i] = 65536;
  Expect(dims.Count() == -1, "a product beyond the limit is no count");
  dims[3] = 0;
  dims[0] = dims[1] = dims[2] = 1;
  Expect(dims.Count() == 0, "an empty tensor has no elements");
  Expect(dims.Axis(-1) == 3 && dims.Axis(3) == 3, "axes count from both ends");
  Expect(dims.Axis(4) == -1 && dims.Axis(-5) == -1 && dims.Axis(INT64_MIN) == -1,
         "an axis outside is none");
}

// Random lifetimes: buffers alive together must not share a byte, and the arena holds them all.
void CheckMemoryPlan() {
  uint32_t seed = 12345;
  const auto random = [&seed](uint32_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
  };
  constexpr size_t kBuffers = 60;
  constexpr int32_t kOps = 40;
  for (int round = 0; round < 200; ++round) {
    Buffer buffers[kBuffers];
    uint32_t order[kBuffers];
    for (Buffer& b : buffers) {
      b.bytes = random(5) == 0 ? 0 : 1 + random(100000);
      b.first = static_cast<int32_t>(random(kOps));
      b.last = b.first + static_cast<int32_t>(random(8));
      b.offset = 0;
    }
    const uint64_t arena = trimtab::PlanMemory(buffers, kBuffers, order);
    Expect(arena >= trimtab::MemoryLowerBound(buffers, kBuffers, kOps + 8),
           "no plan is smaller than what is alive at once");
    for (const Buffer& a : buffers) {
      if (a.bytes == 0) continue;
      Expect(a.offset % trimtab::kArenaAlignment == 0, "buffers are aligned");
      Expect(a.offset + a.bytes <= arena, "buffers lie inside the arena");
      for (const Buffer& b : buffers) {
        const bool together = &a != &b && b.bytes != 0 && a.first <= b.last && b.first <= a.last;
        const bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        Expect(!(together && overlap), "buffers alive together lie apart");
      }
    }
  }
}

void CheckStatusText() {
  trimtab::Status status(Code::kBadProgram, "what happened", -7, INT64_MAX);
  char text[128];
  status.At(3, trimtab::kOperatorTable[0].id).Format(text, sizeof(text));
  Expect(strstr(text, "what happened (-7, 9223372036854775807) in operator 3 (") == text,
         "a status names what, the facts and the operator");
  char tiny[8];
  const size_t length = status.Format(tiny, sizeof(tiny));
  Expect(length == 7 && strcmp(tiny, "what ha") == 0, "a text that does not fit is cut off");
}

}  // namespace

int main() {
  CheckRegistry();
  CheckDims();
  CheckMemoryPlan();
  CheckStatusText();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
