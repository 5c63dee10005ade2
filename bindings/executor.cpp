#include "bindings/executor.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/engine_error.h"
#include "bindings/run_time_operators.h"
#include "runtime/api/model.h"

namespace py = pybind11;

namespace {

using Shape = std::vector<int32_t>;
using Arrays = std::vector<py::array>;
// An image: the format's number in trimtab.h, width and height, planes, and crop.
using Picture = std::tuple<int32_t, std::array<int32_t, 2>, Arrays, std::array<int32_t, 4>>;
using Input = std::variant<py::array, Picture>;

class Executor {
 public:
  // `model`: the bytes of a .ttm file, 64-byte aligned; kept alive. `mapped`: they are pages of a
  // file.
  Executor(py::array_t<uint8_t, py::array::c_style> model, int threads, bool mapped,
           uint64_t max_memory_bytes)
      : bytes_(std::move(model)) {
    char why[256] = "";
    trimtab_model* opened = nullptr;
    const auto open = mapped ? trimtab_open_mapped : trimtab_open_memory;
    // Python has compared the file with its checksums (CheckModel).
    const trimtab_options options = {threads, max_memory_bytes, 1};
    FunctionErrors errors;
    const int code = open(bytes_.data(), static_cast<size_t>(bytes_.size()), &options, &opened, why,
                          sizeof(why));
    errors.Raise();
    if (code != 0) throw EngineError(code, why);
    model_.reset(opened);
    for (uint32_t i = 0; i < trimtab_input_count(opened); ++i)
      input_types_.emplace_back(kNumpyTypes[InputTensor(i).dtype]);
    for (uint32_t i = 0; i < trimtab_output_count(opened); ++i)
      output_types_.emplace_back(kNumpyTypes[OutputTensor(i).dtype]);
  }

  // One inference. `inputs`: a dictionary of exactly the model's inputs, each an array of its type
  // and shape, or a Picture for the camera in front of it; no value for anything else. In C++,
  // because after a network has run, the interpreter's code is no longer in cache: there it takes
  // 30 to 50 us instead of 4.
  // `out`: arrays that take the outputs of these names, of their type and shape.
  // `resizes`: arrays of other shapes resize the inputs.
  std::optional<py::dict> Run(const py::tuple& input_names, const py::tuple& output_names,
                              const py::object& inputs, const py::dict& out, bool resizes) {
    if (input_names.size() != input_types_.size() || output_names.size() != output_types_.size())
      throw EngineError(TRIMTAB_BAD_ARGUMENT, "wrong number of names");
    if (!py::isinstance<py::dict>(inputs) || py::len(inputs) != input_names.size())
      return std::nullopt;
    std::vector<Input> values;
    for (uint32_t i = 0; i < input_names.size(); ++i) {
      PyObject* const value = PyDict_GetItemWithError(inputs.ptr(), input_names[i].ptr());
      if (value == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
      if (value == nullptr) return std::nullopt;
      py::detail::make_caster<Picture> picture;
      if (Fits(i, value, resizes))
        values.emplace_back(Contiguous(py::reinterpret_borrow<py::array>(value)));
      else if (PyTuple_Check(value) && picture.load(value, false))
        values.emplace_back(py::detail::cast_op<Picture>(std::move(picture)));
      else
        return std::nullopt;
    }
    const auto lock = Lock();
    if (resizes) ResizeTo(values);
    std::vector<py::object> results(output_names.size());
    std::vector<void*> places(output_names.size());
    for (uint32_t i = 0; i < places.size(); ++i) {
      PyObject* const array = PyDict_GetItem(out.ptr(), output_names[i].ptr());
      py::array result =
          array == nullptr ? ArrayOfOutput(i, nullptr) : py::reinterpret_borrow<py::array>(array);
      if (array == nullptr || Takes(result, i, values)) places[i] = result.mutable_data();
      results[i] = std::move(result);
    }
    Compute(values, places.data());
    py::dict outputs;
    for (uint32_t i = 0; i < places.size(); ++i) {
      PyObject* const array = PyDict_GetItem(out.ptr(), output_names[i].ptr());
      if (places[i] == nullptr)
        results[i] = array == nullptr ? ArrayOfOutput(i, OutputTensor(i).data)
                                      : CopiedOutput(i, py::reinterpret_borrow<py::array>(array));
      outputs[output_names[i]] = std::move(results[i]);
    }
    return outputs;
  }

  // Runs then overwrite the arrays of the last `count` inputs: Executor::OverwriteInputs.
  void OverwriteInputs(uint32_t count) {
    const auto lock = Lock();
    Check(trimtab::Report(model_.get(), model_->executor.OverwriteInputs(count)));
    overwritten_ = count;
  }

  void Reset() {
    const auto lock = Lock();
    Check(trimtab_reset(model_.get()));
  }

  void ResizeInput(uint32_t index, const Shape& dims) {
    const auto lock = Lock();
    FunctionErrors errors;
    const int code =
        trimtab_resize_input(model_.get(), index, dims.data(), static_cast<int32_t>(dims.size()));
    errors.Raise();
    Check(code);
  }

  // Nanoseconds per operator in one inference with the inputs of the last Run.
  std::vector<double> TimeOperators() {
    const auto lock = Lock();
    using Clock = std::chrono::steady_clock;
    struct Timer {
      std::vector<double> taken;
      Clock::time_point start;
    } timer{std::vector<double>(trimtab_op_count(model_.get())), {}};
    trimtab_set_observer(
        model_.get(),
        [](void* context, uint32_t op, int begin) {
          auto& t = *static_cast<Timer*>(context);
          const auto now = Clock::now();
          if (begin == 0)
            t.taken[op] = std::chrono::duration<double, std::nano>(now - t.start).count();
          t.start = now;
        },
        &timer);
    FunctionErrors errors;
    const int code = trimtab_run(model_.get());
    trimtab_set_observer(model_.get(), nullptr, nullptr);
    errors.Raise();
    Check(code);
    return timer.taken;
  }

  // (shape, numpy type) of each input and of each output.
  std::vector<std::pair<py::tuple, py::dtype>> Inputs() const {
    std::vector<std::pair<py::tuple, py::dtype>> inputs;
    for (uint32_t i = 0; i < input_types_.size(); ++i)
      inputs.emplace_back(ShapeOf(InputTensor(i)), input_types_[i]);
    return inputs;
  }
  std::vector<std::pair<py::tuple, py::dtype>> Outputs() const {
    std::vector<std::pair<py::tuple, py::dtype>> outputs;
    for (uint32_t i = 0; i < output_types_.size(); ++i)
      outputs.emplace_back(ShapeOf(OutputTensor(i)), output_types_[i]);
    return outputs;
  }

  py::dict Memory() const {
    trimtab_memory memory;
    trimtab_memory_use(model_.get(), &memory);
    py::dict result;
    result["arena_bytes"] = memory.arena_bytes;
    result["arena_lower_bound_bytes"] = memory.arena_lower_bound_bytes;
    result["weights_bytes"] = memory.weights_bytes;
    result["prepared_bytes"] = memory.prepared_bytes;
    return result;
  }

 private:
  trimtab_tensor InputTensor(uint32_t index) const {
    trimtab_tensor tensor;
    trimtab_input(model_.get(), index, &tensor);
    return tensor;
  }

  trimtab_tensor OutputTensor(uint32_t index) const {
    trimtab_tensor tensor;
    trimtab_output(model_.get(), index, &tensor);
    return tensor;
  }

  static py::tuple ShapeOf(const trimtab_tensor& tensor) {
    return py::cast(Shape(tensor.dims, tensor.dims + tensor.rank));
  }

  // `array` itself if its elements are in C order, aligned and in native byte order, else a copy.
  static py::array Contiguous(const py::array& array) {
    constexpr int kAligned = py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    return py::array::ensure(array, static_cast<int>(py::array::c_style) | kAligned);
  }

  bool Fits(uint32_t index, py::handle value, bool any_shape) const {
    if (!py::isinstance<py::array>(value)) return false;
    const auto array = py::reinterpret_borrow<py::array>(value);
    const trimtab_tensor tensor = InputTensor(index);
    const py::dtype type = array.dtype();
    return (type.is(input_types_[index]) || type.equal(input_types_[index])) &&
           (any_shape || HasShape(array, tensor));
  }

  static bool HasShape(const py::array& array, const trimtab_tensor& tensor) {
    return std::equal(array.shape(), array.shape() + array.ndim(), tensor.dims,
                      tensor.dims + tensor.rank);
  }

  // Resizes the inputs to the shapes of the arrays, if these differ. Requires the model's lock.
  void ResizeTo(const std::vector<Input>& values) {
    std::vector<trimtab_tensor> inputs(values.size());
    bool differs = false;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      const auto* array = std::get_if<py::array>(&values[i]);
      inputs[i] = InputTensor(i);
      if (array == nullptr || HasShape(*array, inputs[i])) continue;
      differs = true;
      if (array->ndim() > static_cast<py::ssize_t>(std::size(inputs[i].dims)) ||
          std::any_of(array->shape(), array->shape() + array->ndim(),
                      [](py::ssize_t size) { return size > INT32_MAX; }))
        throw EngineError(TRIMTAB_BAD_ARGUMENT, "an input is too large");
      inputs[i].rank = static_cast<int32_t>(array->ndim());
      std::copy(array->shape(), array->shape() + array->ndim(), inputs[i].dims);
    }
    if (!differs) return;
    FunctionErrors errors;
    const int code = trimtab_resize_inputs(model_.get(), inputs.data());
    errors.Raise();
    Check(code);
  }

  // Sets the inputs, keeps their data and runs; `outputs` as of trimtab_run_into. Requires the
  // model's lock.
  void Compute(const std::vector<Input>& values, void** outputs) {
    Arrays kept;
    for (uint32_t i = 0; i < values.size(); ++i) {
      if (const auto* array = std::get_if<py::array>(&values[i])) {
        if (i + overwritten_ >= values.size() && !array->writeable())
          throw EngineError(TRIMTAB_BAD_ARGUMENT, "an array that a run overwrites is not writable");
        Check(trimtab_set_input(model_.get(), i, array->data(),
                                static_cast<size_t>(array->nbytes())));
        kept.push_back(*array);
      } else {
        SetImage(i, std::get<Picture>(values[i]), &kept);
      }
    }
    inputs_ = std::move(kept);
    int code;
    FunctionErrors errors;
    {
      const py::gil_scoped_release release;
      code = trimtab_run_into(model_.get(), outputs);
    }
    errors.Raise();
    Check(code);
  }

  void SetImage(uint32_t index, const Picture& picture, Arrays* kept) {
    const auto& [format, size, planes, crop] = picture;
    trimtab_image image = {};
    image.format = format;
    image.width = size[0];
    image.height = size[1];
    for (size_t i = 0; i < planes.size() && i < std::size(image.planes); ++i) {
      image.planes[i] = planes[i].data();
      image.strides[i] = static_cast<int32_t>(planes[i].strides(0));
      kept->push_back(planes[i]);
    }
    image.crop_left = crop[0];
    image.crop_top = crop[1];
    image.crop_width = crop[2];
    image.crop_height = crop[3];
    Check(trimtab_set_image(model_.get(), index, &image));
  }

  // True if a run may write the output directly into an array of the caller: `array` has room for it,
  // and is no part of an input, which the run reads until its end.
  bool Takes(const py::array& array, uint32_t index, const std::vector<Input>& values) const {
    const auto* const begin = static_cast<const uint8_t*>(array.data());
    const uint8_t* const end = begin + array.nbytes();
    for (const Input& value : values) {
      const auto* input = std::get_if<py::array>(&value);
      if (input == nullptr) return false;
      const auto* const data = static_cast<const uint8_t*>(input->data());
      if (data < end && begin < data + input->nbytes()) return false;
    }
    constexpr int kAligned = py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    constexpr int kUsable = static_cast<int>(py::array::c_style) | kAligned;
    return array.writeable() && (array.flags() & kUsable) == kUsable &&
           static_cast<size_t>(array.nbytes()) == OutputTensor(index).bytes;
  }

  // An array of the output's type and shape, with a copy of `data`, or uninitialized if it is null.
  py::array ArrayOfOutput(uint32_t index, const void* data) const {
    const trimtab_tensor tensor = OutputTensor(index);
    return py::array(output_types_[index], Shape(tensor.dims, tensor.dims + tensor.rank), data);
  }

  // `array`, with the elements of the output.
  py::array CopiedOutput(uint32_t index, py::array array) const {
    const trimtab_tensor tensor = OutputTensor(index);
    if (static_cast<size_t>(array.nbytes()) != tensor.bytes || !array.writeable() ||
        (array.flags() & py::array::c_style) == 0)
      throw EngineError(TRIMTAB_BAD_ARGUMENT, "an array cannot take its output");
    if (array.data() != tensor.data) memcpy(array.mutable_data(), tensor.data, tensor.bytes);
    return array;
  }

  void Check(int code) const {
    if (code != 0) throw EngineError(code, trimtab_last_error(model_.get()));
  }

  // The turn of this thread to use the model, one at a time. A waiting thread releases the
  // interpreter, which the thread that holds the model may need, and obeys Ctrl-C. EngineError
  // inside of a turn of the same thread, which is a function of an operator: it would wait forever.
  class Exclusive {
   public:
    explicit Exclusive(Executor* executor)
        : lock_(executor->mutex_, std::try_to_lock), of_(executor) {
      if (!lock_ && of_->user_ == std::this_thread::get_id())
        throw EngineError(TRIMTAB_BAD_ARGUMENT, "its function uses the session that runs it");
      while (!lock_) {
        {
          const py::gil_scoped_release release;
          static_cast<void>(lock_.try_lock_for(std::chrono::milliseconds(100)));
        }
        if (!lock_ && PyErr_CheckSignals() != 0) throw py::error_already_set();
      }
      of_->user_ = std::this_thread::get_id();
    }
    ~Exclusive() { of_->user_ = std::thread::id(); }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

   private:
    std::unique_lock<std::timed_mutex> lock_;
    Executor* of_;
  };

  Exclusive Lock() { return Exclusive(this); }

  struct Close {
    void operator()(trimtab_model* model) const { trimtab_close(model); }
  };
  std::timed_mutex mutex_;
  std::atomic<std::thread::id> user_{};  // the thread whose turn it is
  py::array_t<uint8_t, py::array::c_style> bytes_;
  std::vector<py::dtype> input_types_, output_types_;
  uint32_t overwritten_ = 0;  // inputs, the last ones, whose arrays a run overwrites
  Arrays inputs_;             // keeps the model's input data alive
  std::unique_ptr<trimtab_model, Close> model_;
};

}  // namespace

void DefineExecutor(py::module_& module) {
  py::class_<Executor>(module, "Executor")
      .def(py::init<py::array_t<uint8_t, py::array::c_style>, int, bool, uint64_t>(),
           py::arg("model"), py::arg("threads") = 1, py::arg("mapped") = false,
           py::arg("max_memory_bytes") = 0)
      .def("run", &Executor::Run, py::arg("input_names"), py::arg("output_names"),
           py::arg("inputs"), py::arg("out"), py::arg("resizes") = false)
      .def("overwrite_inputs", &Executor::OverwriteInputs)
      .def("reset", &Executor::Reset)
      .def("resize_input", &Executor::ResizeInput)
      .def("time_operators", &Executor::TimeOperators)
      .def("inputs", &Executor::Inputs)
      .def("outputs", &Executor::Outputs)
      .def("memory", &Executor::Memory);
}
