#include "bindings/run_time_operators.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/engine_error.h"
#include "runtime/api/run_time_operator.h"
#include "runtime/api/trimtab.h"

namespace py = pybind11;

namespace {

// An operator implemented by Python functions: `shape` and `run` of trimtab/python_operators.py.
// Never freed: it is registered for the life of the process.
struct Function {
  std::string type, place;
  std::vector<std::string> attributes;
  std::vector<const char*> attribute_list;
  trimtab::Origin origin;
  py::object shape, run;
};

thread_local FunctionErrors* current_errors = nullptr;

py::dict Attributes(const trimtab_call& call) {
  py::dict result;
  for (uint32_t i = 0; i < call.attribute_count; ++i) {
    const trimtab_attribute& a = *call.attributes[i];
    if (a.type == TRIMTAB_INT) result[a.name] = a.i;
    if (a.type == TRIMTAB_FLOAT) result[a.name] = a.f;
    if (a.type == TRIMTAB_INTS) result[a.name] = std::vector<int64_t>(a.ints, a.ints + a.count);
    if (a.type == TRIMTAB_FLOATS) result[a.name] = std::vector<float>(a.floats, a.floats + a.count);
  }
  return result;
}

// A view of the operand's elements in logical order. It must not reach Python code, which could
// keep it for longer than the operand's memory lives.
py::array View(const trimtab_operand& operand) {
  const py::dtype type(kNumpyTypes[operand.dtype]);
  std::vector<py::ssize_t> shape(operand.dims, operand.dims + operand.rank);
  std::vector<py::ssize_t> strides(shape.size());
  std::vector<size_t> order(shape.size());  // dimensions in memory order, slowest first
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (operand.layout == TRIMTAB_NHWC) order = {0, 2, 3, 1};
  py::ssize_t step = type.itemsize();
  for (size_t i = order.size(); i-- > 0; step *= shape[order[i]]) strides[order[i]] = step;
  return py::array(type, std::move(shape), std::move(strides), operand.data, py::none());
}

// A read-only array with a copy of the operand's elements.
py::object Copy(const trimtab_operand* operand) {
  if (operand == nullptr) return py::none();
  const auto& numpy = py::detail::npy_api::get();
  const py::array view = View(*operand);
  PyObject* const copy = numpy.PyArray_NewCopy_(view.ptr(), 0);
  if (copy == nullptr) throw py::error_already_set();
  py::detail::array_proxy(copy)->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return py::reinterpret_steal<py::object>(copy);
}

py::object ShapeOf(const trimtab_operand* operand) {
  if (operand == nullptr) return py::none();
  const std::vector<int32_t> dims(operand->dims, operand->dims + operand->rank);
  return py::make_tuple(py::tuple(py::cast(dims)), operand->dtype);
}

template <typename Body>
const char* Called(Body body) {
  const py::gil_scoped_acquire interpreter;
  FunctionErrors* const errors = FunctionErrors::Current();
  if (errors == nullptr) return "the engine was not called from Python";
  if (errors->any()) return "an earlier Python function has raised an exception";
  try {
    body();
    return nullptr;
  } catch (...) {
    errors->Store(std::current_exception());
    return "the Python function has raised an exception";
  }
}

const char* Shape(trimtab_call* call) {
  return Called([call] {
    const auto& function = *static_cast<const Function*>(call->context);
    py::list inputs;
    for (uint32_t i = 0; i < call->input_count; ++i) inputs.append(ShapeOf(call->inputs[i]));
    const auto results = function.shape(inputs, Attributes(*call), call->output_count)
                             .cast<std::vector<std::pair<std::vector<int32_t>, int32_t>>>();
    for (uint32_t i = 0; i < call->output_count; ++i) {
      trimtab_operand& output = *call->outputs[i];
      const auto& [dims, dtype] = results.at(i);
      output.rank = static_cast<int32_t>(dims.size());
      for (size_t d = 0; d < dims.size() && d < 8; ++d) output.dims[d] = dims[d];
      output.dtype = dtype;
    }
  });
}

void Run(trimtab_call* call) {
  Called([call] {
    const auto& function = *static_cast<const Function*>(call->context);
    py::list inputs, outputs;
    for (uint32_t i = 0; i < call->input_count; ++i) inputs.append(Copy(call->inputs[i]));
    for (uint32_t i = 0; i < call->output_count; ++i) outputs.append(ShapeOf(call->outputs[i]));
    const auto results =
        function.run(inputs, Attributes(*call), outputs).cast<std::vector<py::array>>();
    for (uint32_t i = 0; i < call->output_count; ++i) {
      const py::array output = View(*call->outputs[i]);
      const auto& numpy = py::detail::npy_api::get();
      if (numpy.PyArray_CopyInto_(output.ptr(), results.at(i).ptr()) < 0)
        throw py::error_already_set();
    }
  });
}

void RegisterFunction(const std::string& type, const std::string& place,
                      std::pair<uint32_t, uint32_t> inputs, std::pair<uint32_t, uint32_t> outputs,
                      std::pair<uint32_t, uint32_t> masks, uint32_t dtypes, bool nhwc,
                      const std::vector<std::string>& attributes, const py::object& shape,
                      const py::object& run) {
  auto owner = std::make_unique<Function>();
  Function& function = *owner;
  function.type = type;
  function.place = place;
  function.attributes = attributes;
  for (const std::string& text : function.attributes)
    function.attribute_list.push_back(text.c_str());
  function.attribute_list.push_back(nullptr);
  function.origin.name = function.place.c_str();
  function.shape = shape;
  function.run = run;
  trimtab_operator op = {};
  op.struct_size = sizeof(op);
  op.abi = TRIMTAB_PLUGIN_ABI;
  op.type = function.type.c_str();
  op.least_inputs = inputs.first;
  op.most_inputs = inputs.second;
  op.least_outputs = outputs.first;
  op.most_outputs = outputs.second;
  op.optional_inputs = masks.first;
  op.constant_inputs = masks.second;
  op.dtypes = dtypes;
  op.layout = nhwc ? TRIMTAB_NHWC : TRIMTAB_PLAIN;
  op.attributes = function.attribute_list.data();
  op.context = owner.get();
  op.shape = Shape;
  op.run = Run;
  char why[1024];
  trimtab::Text text(why, sizeof(why));
  if (!trimtab::RegisterOperator(op, function.origin, &text))
    throw EngineError(TRIMTAB_BAD_PLUGIN, why);
  [[maybe_unused]] const auto* const leaked = owner.release();  // for the life of the process
}

void LoadLibrary(const std::string& path) {
  char why[1024];
  const int code = trimtab_load_plugin(path.c_str(), nullptr, why, sizeof(why));
  if (code != 0) throw EngineError(code, why);
}

std::string OriginOf(uint16_t op_id) {
  const trimtab::Origin* const origin = trimtab::OriginOf(op_id);
  return origin != nullptr ? origin->name : "";
}

}  // namespace

FunctionErrors::FunctionErrors() : outer_(current_errors) { current_errors = this; }

FunctionErrors::~FunctionErrors() { current_errors = outer_; }

FunctionErrors* FunctionErrors::Current() { return current_errors; }

void FunctionErrors::Raise() {
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void DefineRunTimeOperators(py::module_& module) {
  module.def("load_library", &LoadLibrary, py::arg("path"));
  module.def("origin_of", &OriginOf, py::arg("op_id"));
  module.def("register_function", &RegisterFunction, py::arg("type"), py::arg("place"),
             py::arg("inputs"), py::arg("outputs"), py::arg("masks"), py::arg("dtypes"),
             py::arg("nhwc"), py::arg("attributes"), py::arg("shape"), py::arg("run"));
}
