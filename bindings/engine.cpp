// The Python extension: shape rules, operators, kernels, and what the other files of this folder
// define.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/engine_error.h"
#include "bindings/executor.h"
#include "bindings/hand_over.h"
#include "bindings/kernel_timer.h"
#include "bindings/run_time_operators.h"
#include "bindings/weights.h"
#include "runtime/api/run_time_operator.h"
#include "runtime/api/trimtab.h"
#include "runtime/core/cpu.h"
#include "runtime/core/frame_fit.h"
#include "runtime/core/kernel_table.h"
#include "runtime/core/loader.h"
#include "runtime/core/registry.h"

namespace py = pybind11;

namespace {

using Shape = std::vector<int32_t>;
using ShapeAndType = std::pair<Shape, int>;

void Throw(const trimtab::Status& status) {
  char text[256];
  status.Format(text, sizeof(text));
  throw EngineError(static_cast<int>(status.code()), text);
}

// The layout that an operator's schema requires of its operands; logical dimensions do not depend
// on it.
trimtab::Layout LayoutFor(const trimtab::OperatorRow& row, int rank) {
  return row.layout == trimtab::LayoutRule::kNhwc && rank == 4 ? trimtab::Layout::kNhwc
                                                               : trimtab::Layout::kPlain;
}

trimtab::Dims ToDims(const Shape& shape) {
  if (shape.size() > trimtab::Dims::kMaxRank)
    throw EngineError(TRIMTAB_BAD_PROGRAM, "tensors have at most 8 dimensions");
  trimtab::Dims dims;
  dims.rank = static_cast<int>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) dims[static_cast<int>(i)] = shape[i];
  return dims;
}

struct Release {
  const trimtab::OperatorRow* row = nullptr;
  void operator()(trimtab::Operator* op) const { trimtab::ReleaseOperator(*row, op); }
};

// One operator outside of a program, with its own operands.
class Call {
 public:
  Call(uint16_t op_id, const std::vector<std::optional<ShapeAndType>>& inputs,
       const py::bytes& attributes, size_t output_count)
      : row_(trimtab::FindOperator(op_id)),
        tensors_(inputs.size() + output_count),
        input_count_(inputs.size()) {
    if (row_ == nullptr)
      throw EngineError(TRIMTAB_MISSING_OP,
                        "this engine has no operator of id " + std::to_string(op_id));
    if (inputs.size() > 255 || output_count > 255)
      throw EngineError(TRIMTAB_BAD_PROGRAM, "an operator has at most 255 inputs and outputs");
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (i < inputs.size() && !inputs[i]) {
        pointers_.push_back(nullptr);
        continue;
      }
      if (i < inputs.size()) {
        tensors_[i].dims = ToDims(inputs[i]->first);
        tensors_[i].dtype = static_cast<trimtab::DType>(inputs[i]->second);
      }
      const bool output = i >= inputs.size();
      tensors_[i].layout = LayoutFor(*row_, output ? 4 : tensors_[i].dims.rank);
      pointers_.push_back(&tensors_[i]);
    }
    const std::string block = attributes;
    attributes_.resize((block.size() + 7) / 8);
    std::copy(block.begin(), block.end(), reinterpret_cast<char*>(attributes_.data()));
    // Operators that prepare weights return float32, unless the plan says otherwise.
    if (row_->prepares && output_count > 0) tensors_[inputs.size()].dtype = trimtab::DType::kF32;
    const trimtab::Tensor* decides = row_->prepares   ? &tensors_[inputs.size()]
                                     : inputs.empty() ? nullptr
                                                      : pointers_[0];
    const trimtab::OperatorFactory& factory =
        trimtab::FactoryFor(*row_, decides == nullptr ? trimtab::DType::kNone : decides->dtype);
    memory_.reset(static_cast<char*>(aligned_alloc(64, (factory.bytes + 63) / 64 * 64)));
    op_ = {factory.construct(memory_.get()), Release{row_}};
    const trimtab::Operands operands = {pointers_.data(), pointers_.data() + inputs.size(),
                                        static_cast<uint8_t>(inputs.size()),
                                        static_cast<uint8_t>(output_count)};
    const auto* bytes = reinterpret_cast<const uint8_t*>(attributes_.data());
    Check(op_->SetUpShapes(*row_, operands, bytes, block.size()));
  }

  trimtab::Tensor& input(size_t i) { return tensors_[i]; }
  trimtab::Tensor& output(size_t i) { return tensors_[input_count_ + i]; }
  bool view() const { return row_->view; }

  // The sizes of prepared weights differ from their shapes and are known after this. Inputs must
  // have their data.
  void SetUpRun() { Check(op_->SetUpRun(1)); }
  Shape OutputShape(size_t i) {
    const trimtab::Tensor& result = output(i);
    if (row_->prepares) return {static_cast<int32_t>(result.bytes / result.element_size())};
    return Shape(result.dims.d, result.dims.d + result.dims.rank);
  }

  // All tensors must have their data.
  void Run() {
    trimtab::ThreadPool alone;
    const std::unique_ptr<void, decltype(&free)> scratch(
        aligned_alloc(64, (op_->scratch_bytes() + 64) / 64 * 64), &free);
    op_->set_scratch(scratch.get());
    op_->Compute(alone);
    errors_.Raise();
  }

 private:
  void Check(const trimtab::Status& status) {
    errors_.Raise();
    if (!status.ok()) Throw(status);
  }

  FunctionErrors errors_;
  const trimtab::OperatorRow* row_;
  std::vector<trimtab::Tensor> tensors_;
  std::vector<trimtab::Tensor*> pointers_;
  std::vector<uint64_t> attributes_;
  std::unique_ptr<char, decltype(&free)> memory_{nullptr, &free};
  std::unique_ptr<trimtab::Operator, Release> op_;
  size_t input_count_;
};

// Infers the shapes of one operator. inputs: (shape, dtype), or None for an absent one. Returns
// (shape, dtype) of each output.
std::vector<ShapeAndType> InferShapes(uint16_t op_id,
                                      const std::vector<std::optional<ShapeAndType>>& inputs,
                                      const py::bytes& attributes, size_t output_count) {
  Call call(op_id, inputs, attributes, output_count);
  std::vector<ShapeAndType> result;
  for (size_t i = 0; i < output_count; ++i) {
    const trimtab::Dims& dims = call.output(i).dims;
    result.emplace_back(Shape(dims.d, dims.d + dims.rank), static_cast<int>(call.output(i).dtype));
  }
  return result;
}

// Runs one operator. inputs: contiguous (array, dtype) in the operator's layout, or None. Returns
// its outputs; prepared weights are one-dimensional.
std::vector<py::array> RunOperator(
    uint16_t op_id, const std::vector<std::optional<std::pair<py::array, int>>>& inputs,
    const py::bytes& attributes, size_t output_count) {
  std::vector<std::optional<ShapeAndType>> operands;
  for (const auto& input : inputs) {
    operands.emplace_back();
    if (input)
      operands.back().emplace(
          Shape(input->first.shape(), input->first.shape() + input->first.ndim()), input->second);
  }
  Call call(op_id, operands, attributes, output_count);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    call.input(i).raw = const_cast<void*>(inputs[i]->first.data());
    call.input(i).bytes = static_cast<size_t>(inputs[i]->first.nbytes());
  }
  call.SetUpRun();
  std::vector<py::array> results;
  for (size_t i = 0; i < output_count; ++i) {
    trimtab::Tensor& tensor = call.output(i);
    results.emplace_back(py::dtype(kNumpyTypes[static_cast<int>(tensor.dtype)]),
                         call.OutputShape(i));
    tensor.raw = results.back().mutable_data();
    tensor.bytes = static_cast<size_t>(results.back().nbytes());
  }
  call.Run();
  if (call.view())
    std::copy_n(static_cast<const char*>(inputs[0]->first.data()), call.output(0).bytes,
                static_cast<char*>(call.output(0).raw));
  return results;
}

// Checks a model's bytes as far as possible without running them.
void CheckModel(const py::array_t<uint8_t, py::array::c_style>& bytes) {
  trimtab::Program program;
  trimtab::Status status = trimtab::Load(bytes.data(), static_cast<size_t>(bytes.size()), &program);
  if (status.ok()) status = trimtab::VerifyConstants(program, false);
  if (!status.ok()) Throw(status);
  for (uint32_t i = 0; i < program.op_count(); ++i) {
    const trimtab::OpRecord& op = program.op(i);
    const trimtab::OperatorRow* row = trimtab::FindOperator(op.op_id);
    if (row != nullptr && row->schema == op.schema) continue;
    const std::string name = row == nullptr ? "of id " + std::to_string(op.op_id) : row->name;
    throw EngineError(TRIMTAB_BAD_VERSION, "operator " + name + " was written with another schema");
  }
}

// Unpacks tables of a file, which have `size` bytes.
py::bytes Unpack(const py::array_t<uint8_t, py::array::c_style>& packed, size_t size) {
  std::vector<uint8_t> tables(size + trimtab::kMaxUnpackedBeyond);
  const uint8_t* const from = packed.data();
  if (!trimtab::Unpack(from, from + packed.size(), tables.data(), tables.data() + size))
    throw EngineError(TRIMTAB_BAD_FILE, "damaged file: packed tables");
  return {reinterpret_cast<const char*>(tables.data()), size};
}

std::vector<std::string> CpuFeatureNames() {
  char text[256];
  trimtab_cpu_features(text, sizeof(text));
  std::vector<std::string> names(1);
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at == ',') {
      names.emplace_back();
    } else {
      names.back() += *at;
    }
  }
  if (names.back().empty()) names.pop_back();
  return names;
}

double TimeKernel(const std::string& name, const std::string& args_type,
                  const trimtab::LayerSizes& sizes, double least_ns) {
  const auto* const end = trimtab::kKernelTable + trimtab::kKernelTableSize;
  const uint32_t hash = trimtab::NameHash(name.c_str());
  const auto* const row =
      std::find_if(trimtab::kKernelTable, end, [&](const auto& row) { return row.name == hash; });
  if (row == end || (row->cpu_features & ~trimtab::CpuFeatures()) != 0)
    throw EngineError(TRIMTAB_MISSING_KERNEL, "this engine or CPU lacks the kernel " + name);
  const py::gil_scoped_release release;
  return trimtab::TimeKernel(row->function, args_type, sizes, least_ns);
}

// The place of a picture in a result, both of (width, height): left, top, width, height. `fit`: a
// value of the attribute of camera_image, but not the first, which says that the model knows.
std::array<int64_t, 4> FitFrame(uint32_t fit, int64_t shorter, std::array<int64_t, 2> picture,
                                std::array<int64_t, 2> result) {
  constexpr int64_t kLimit = 3'000'000'000;  // products of two fit 64 bits
  const auto is_size = [](int64_t side) { return side > 0 && side <= kLimit; };
  if (!is_size(picture[0]) || !is_size(picture[1]) || !is_size(result[0]) || !is_size(result[1]) ||
      shorter < 0 || shorter > kLimit)
    throw EngineError(TRIMTAB_BAD_ARGUMENT, "a picture has no such size");
  int64_t content[4];
  trimtab::FitFrame(static_cast<trimtab::FrameFit>(fit), shorter, {picture[1], picture[0]},
                    {result[1], result[0]}, content);
  return {content[1], content[0], content[3], content[2]};
}

std::vector<std::string> KernelNames() {
  return {trimtab::kKernelNames, trimtab::kKernelNames + trimtab::kKernelTableSize};
}

}  // namespace

PYBIND11_MODULE(_engine, module) {
  module.doc() = "trimtab's engine on this machine";
  module.attr("MAX_ELEMENTS") = trimtab::kMaxElements;
  module.attr("compiler") = __VERSION__;
  // Lives as long as the process, as the interpreter keeps the module.
  static PyObject* error =
      py::module_::import("trimtab.engine").attr("EngineError").cast<py::object>().release().ptr();
  module.attr("EngineError") = py::handle(error);
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const EngineError& e) {
      PyErr_SetObject(error, py::make_tuple(e.code, e.what()).ptr());
    }
  });
  module.def("infer_shapes", &InferShapes, py::arg("op_id"), py::arg("inputs"),
             py::arg("attributes"), py::arg("output_count"));
  module.def("run_operator", &RunOperator, py::arg("op_id"), py::arg("inputs"),
             py::arg("attributes"), py::arg("output_count"));
  module.def("fit_frame", &FitFrame, py::arg("fit"), py::arg("shorter"), py::arg("picture"),
             py::arg("result"));
  module.def("cpu_features", &CpuFeatureNames);
  module.def("kernel_names", &KernelNames);
  module.def("time_kernel", &TimeKernel, py::arg("name"), py::arg("args_type"), py::arg("sizes"),
             py::arg("least_ns"));
  module.def("hand_over_ns", &trimtab::HandOverNs, py::arg("cores"),
             py::call_guard<py::gil_scoped_release>());
  module.def("schema_hash", &trimtab_schema_hash);
  py::class_<trimtab::RunningChecksum>(module, "Checksum")
      .def(py::init<>())
      .def("add",
           [](trimtab::RunningChecksum& self,
              const py::array_t<uint8_t, py::array::c_style>& bytes) {
             self.Add(bytes.data(), static_cast<size_t>(bytes.size()));
           })
      .def("digest", &trimtab::RunningChecksum::Digest);
  module.def("check_model", &CheckModel);
  module.def("unpack", &Unpack, py::arg("packed"), py::arg("size"));
  DefineRunTimeOperators(module);
  DefineExecutor(module);
  DefineWeights(module);
}
