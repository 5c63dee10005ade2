// Checks parts of the core that no model reaches: the registry's run-time side, dimensions at their
// limits, quantization, and the memory plan against a plain definition of correctness.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/api/run_time_operator.h"
#include "runtime/api/trimtab.h"
#include "runtime/core/kernel_table.h"
#include "runtime/core/loader.h"
#include "runtime/core/memory_plan.h"
#include "runtime/core/registry.h"
#include "runtime/core/scope.h"
#include "runtime/core/tensor.h"

namespace {

using trimtab::Buffer;
using trimtab::Code;
using trimtab::Dims;

int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  printf("FAILED: %s\n", what);
  ++failures;
}

const char* KeepsShape(trimtab_call* call) {
  trimtab_copy_shape(call->outputs[0], call->inputs[0]);
  return nullptr;
}

trimtab_operator Named(const char* type) {
  trimtab_operator op = {};
  op.struct_size = sizeof(op);
  op.abi = TRIMTAB_PLUGIN_ABI;
  op.type = type;
  op.least_inputs = op.most_inputs = op.least_outputs = op.most_outputs = 1;
  op.dtypes = 1u << TRIMTAB_F32;
  op.shape = KeepsShape;
  op.run = [](trimtab_call*) {};
  return op;
}

void Refused(const trimtab_operator& op, const char* reason) {
  char why[256] = "";
  Expect(trimtab_register_operator(&op, why, sizeof(why)) == TRIMTAB_BAD_PLUGIN, reason);
  Expect(strstr(why, reason) != nullptr, why);
}

// A number of a declaration that no operator can have, and a word of the reason.
struct Wrong {
  uint32_t trimtab_operator::* member;
  uint32_t value;
  const char* reason;
};

void RefuseNumbers() {
  using Op = trimtab_operator;
  constexpr const char* kCounts = "numbers of inputs or outputs";
  const Wrong all[] = {
      {&Op::least_inputs, 2, kCounts},
      {&Op::most_inputs, 256, kCounts},
      {&Op::least_outputs, 2, kCounts},
      {&Op::least_outputs, 0, kCounts},
      {&Op::most_outputs, 256, kCounts},
      {&Op::dtypes, 0, "element types"},
      {&Op::dtypes, 1, "element types"},
      {&Op::dtypes, 1u << (TRIMTAB_BOOL + 1) | 1u << TRIMTAB_F32, "element types"},
      {&Op::optional_inputs, 1u << 8, "first 8 inputs"},
      {&Op::constant_inputs, 1u << 8, "first 8 inputs"},
  };
  for (const Wrong& wrong : all) {
    trimtab_operator op = Named("other_plugin");
    op.*wrong.member = wrong.value;
    Refused(op, wrong.reason);
  }
  trimtab_operator op = Named("other_plugin");
  op.layout = 2;
  Refused(op, "layout");
  constexpr const char* kNames[] = {"factor:double", "factor", ":int", "Factor:int", "1st:int",
                                    "two words:int",
                                    // 48 letters
                                    "abcdefghijklmnopabcdefghijklmnopabcdefghijklmnop:int"};
  for (const char* name : kNames) {
    const char* const attributes[] = {"first:int", name, nullptr};
    op = Named("other_plugin");
    op.attributes = attributes;
    Refused(op, "an attribute is not name:type");
  }
  const char* many[34] = {};
  for (int i = 0; i < 33; ++i) many[i] = "same:int";
  op.attributes = many;
  Refused(op, "more than 32 attributes");
}

void AcceptExtremes() {
  trimtab_operator op = Named("extreme_plugin");
  op.least_inputs = 0;
  op.most_inputs = op.most_outputs = 255;
  for (int dtype = TRIMTAB_F32; dtype <= TRIMTAB_BOOL; ++dtype) op.dtypes |= 1u << dtype;
  op.optional_inputs = op.constant_inputs = 0xFF;
  op.layout = TRIMTAB_NHWC;
  // 47 letters
  const char* attributes[33] = {"abcdefghijklmnopabcdefghijklmnopabcdefghijklmno:ints"};
  for (int i = 1; i < 32; ++i) attributes[i] = "a_9:floats";
  op.attributes = attributes;
  Expect(trimtab_register_operator(&op, nullptr, 0) == 0, "the largest numbers are allowed");
  constexpr uint16_t kId = 0x8000 | (trimtab::NameHash("extreme_plugin") & 0x7FFF);
  const trimtab::OperatorRow* const row = trimtab::FindOperator(kId);
  Expect(row != nullptr && row->field_count == 32 && row->min_inputs == 0 &&
             row->max_inputs == 255 && row->max_outputs == 255,
         "they are those of the operator");
}

void CheckRegistry() {
  constexpr uint16_t kId = 0x8000 | (trimtab::NameHash("check_plugin") & 0x7FFF);
  const trimtab_operator plugin = Named("check_plugin");
  Expect(trimtab::FindOperator(kId) == nullptr, "an operator nobody registered is not found");
  Expect(trimtab_register_operator(&plugin, nullptr, 0) == 0, "a new operator can be registered");
  const trimtab::OperatorRow* const row = trimtab::FindOperator(kId);
  Expect(row != nullptr && strcmp(row->name, "check_plugin") == 0, "a registered one is found");
  Refused(plugin, "there is an operator check_plugin of this program");
  Expect(trimtab::FindOperator(kId) == row, "a refused registration changes nothing");

  trimtab_operator bad = Named("other_plugin");
  bad.struct_size = offsetof(trimtab_operator, destroy);
  Refused(bad, "struct is too small");
  bad = Named("other_plugin");
  bad.abi = TRIMTAB_PLUGIN_ABI + 1;
  Refused(bad, "is of ABI");
  Refused(Named("Other Plugin"), "snake_case");
  bad = Named("other_plugin");
  bad.run = nullptr;
  Refused(bad, "lacks shape or run");
  RefuseNumbers();
  AcceptExtremes();

  // A later release's struct is larger: unknown members are ignored.
  struct {
    trimtab_operator op;
    void* more;
  } later = {Named("later_plugin"), nullptr};
  later.op.struct_size = sizeof(later);
  Expect(trimtab_register_operator(&later.op, nullptr, 0) == 0, "a larger struct is no error");
  char why[256] = "";
  Expect(trimtab_load_plugin("/nonexistent.so", nullptr, why, sizeof(why)) != 0 && why[0] != 0,
         "a library that is not there is an error with a reason");
}

void CheckDims() {
  Dims dims;
  Expect(dims.Count() == 1, "a scalar has one element");
  dims.rank = 4;
  for (int i = 0; i < 4; ++i) dims[i] = 65536;
  Expect(dims.Count() == -1, "a product beyond the limit is no count");
  dims[2] = dims[3] = 1;
  dims[0] = trimtab::kMaxElements / 4;
  dims[1] = 4;
  Expect(dims.Count() == trimtab::kMaxElements, "a tensor may have as many elements as the limit");
  dims[0] += 1;
  Expect(dims.Count() == -1, "and not one row more");
  dims[3] = 0;
  Expect(dims.Count() == -1, "which an empty dimension does not excuse");
  dims[0] = dims[1] = dims[2] = 1;
  Expect(dims.Count() == 0, "an empty tensor has no elements");
  Expect(dims.Axis(-1) == 3 && dims.Axis(3) == 3, "axes count from both ends");
  Expect(dims.Axis(4) == -1 && dims.Axis(-5) == -1 && dims.Axis(INT64_MIN) == -1,
         "an axis outside is none");
}

// Random lifetimes: buffers that are live together must not overlap, and the arena must hold all.
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

// A file of one variable, int8 [2, 3], with a scale per column, built byte by byte from
// docs/model-format.md.
struct SmallFile {
  alignas(64) uint8_t bytes[256] = {};
  static constexpr size_t kVariable = 128, kQuantization = 200;

  SmallFile() {
    memcpy(bytes, "trimtab", 8);
    Put<uint32_t>(8, trimtab::kFormatVersion);
    Put<uint32_t>(12, sizeof(bytes));
    Put<uint64_t>(16, sizeof(bytes));
    Put<uint32_t>(76, 1);  // variables
    Put<uint32_t>(100, sizeof(bytes));
    Put<int32_t>(kVariable, 2);
    Put<int32_t>(kVariable + 4, 3);
    bytes[kVariable + 52] = 3;  // i8
    bytes[kVariable + 54] = 2;  // rank
    Put<uint32_t>(kVariable + 64, kQuantization);
    Put<int32_t>(kQuantization, 1);       // axis
    Put<uint32_t>(kQuantization + 4, 3);  // count
    for (size_t i = 0; i < 3; ++i) {
      Put<float>(kQuantization + 8 + 4 * i, 0.25f * static_cast<float>(i + 1));
      Put<int32_t>(kQuantization + 20 + 4 * i, static_cast<int32_t>(i) - 128);
    }
  }

  template <typename T>
  void Put(size_t at, T value) {
    memcpy(bytes + at, &value, sizeof(value));
  }

  Code Load(trimtab::Program* program) {
    Put<uint64_t>(24, trimtab::Checksum(bytes + 64, sizeof(bytes) - 64));
    return trimtab::Load(bytes, sizeof(bytes), program).code();
  }
};

template <typename T>
void ExpectRefused(size_t at, T value, const char* what) {
  SmallFile file;
  file.Put(at, value);
  trimtab::Program program;
  Expect(file.Load(&program) == Code::kBadFile, what);
}

void CheckQuantization() {
  SmallFile file;
  trimtab::Program program;
  trimtab::Memory memory;
  trimtab::Scope scope;
  const bool is_loaded = file.Load(&program) == Code::kOk && scope.Create(program, &memory).ok();
  Expect(is_loaded, "a good file is loaded");
  if (!is_loaded) return;
  const trimtab::Quantization* found = scope.tensor(0).quantization;
  Expect(reinterpret_cast<const uint8_t*>(found) == file.bytes + SmallFile::kQuantization,
         "a tensor's quantization lies in the file");
  Expect(found->axis == 1 && found->count == 3, "it tells its axis and how many scales there are");
  Expect(found->scales()[2] == 0.75f && found->zero_points()[2] == -126,
         "it tells scales and zero points");

  constexpr size_t kAt = SmallFile::kQuantization, kOffset = SmallFile::kVariable + 64;
  constexpr uint32_t kFileBytes = sizeof(SmallFile::bytes);
  ExpectRefused<uint32_t>(kOffset, kFileBytes, "a quantization behind the file");
  ExpectRefused<uint32_t>(kOffset, kFileBytes - 8, "scales behind the file");
  ExpectRefused<uint32_t>(kOffset, 0xFFFFFFFCu, "an offset at the end of 32 bits");
  ExpectRefused<uint32_t>(kOffset, 8, "a quantization in the header");
  ExpectRefused<uint32_t>(kOffset, kAt + 2, "an offset between words");
  ExpectRefused<int32_t>(kAt, 2, "an axis behind the last");
  ExpectRefused<int32_t>(kAt, -2, "an axis that is negative");
  ExpectRefused<int32_t>(kAt, -1, "three scales for a whole tensor");
  ExpectRefused<int32_t>(kAt, 0, "three scales for two rows");
  ExpectRefused<int32_t>(kAt + 4, -1, "a negative count");
  ExpectRefused<uint32_t>(kAt + 4, 0, "no scale");
  constexpr float kNoScales[] = {0.0f, -1.0f, NAN, INFINITY, -INFINITY};
  for (const float scale : kNoScales)
    ExpectRefused(kAt + 12, scale, "a scale that is not positive and finite");
  ExpectRefused<int32_t>(kAt + 24, 128, "a zero point above an int8");
  ExpectRefused<int32_t>(kAt + 24, -129, "a zero point below an int8");
  ExpectRefused<int32_t>(kAt + 24, INT32_MIN, "a zero point far below an int8");
  ExpectRefused<uint8_t>(SmallFile::kVariable + 52, 1, "a quantized float");
  ExpectRefused<uint8_t>(SmallFile::kVariable + 52, 4, "a negative zero point of a uint8");
}

void CheckSizes() {
  constexpr size_t kRows = SmallFile::kVariable, kData = SmallFile::kVariable + 32;
  SmallFile file;
  trimtab::Program program;
  file.Put<int32_t>(kRows, trimtab::kMaxElements / 3);
  Expect(file.Load(&program) == Code::kOk, "a variable may have as many elements as the limit");
  ExpectRefused<int32_t>(kRows, trimtab::kMaxElements / 3 + 1, "a variable beyond the limit");
  ExpectRefused<int32_t>(kRows, INT32_MAX, "a variable far beyond the limit");
  ExpectRefused<int32_t>(kRows, -1, "a variable of a negative size");
  ExpectRefused<uint64_t>(kData, 64, "data among the tables");
  ExpectRefused<uint64_t>(kData, 256, "data of no bytes for six elements");
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
  CheckQuantization();
  CheckSizes();
  CheckStatusText();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
