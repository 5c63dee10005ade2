// Runs a program: creates its operators, infers shapes, plans memory, then computes without
// allocating.
#ifndef TRIMTAB_CORE_EXECUTOR_H_
#define TRIMTAB_CORE_EXECUTOR_H_

#include "runtime/core/arena.h"
#include "runtime/core/frame.h"
#include "runtime/core/memory.h"
#include "runtime/core/memory_plan.h"
#include "runtime/core/operator.h"
#include "runtime/core/program.h"
#include "runtime/core/scope.h"
#include "runtime/core/thread_pool.h"

namespace trimtab {

// Limits of the arena and prepared constants together. The first is that of all sizes: half of the
// address space. Without a limit of the caller, a model may take the second, and what its file's
// constants can grow to: a file of a few bytes cannot take all memory.
constexpr uint64_t kMaxModelBytes = PTRDIFF_MAX;
constexpr uint64_t kDefaultModelBytes = (uint64_t{1} << 31) - 1;
constexpr uint64_t kMaxPreparedGrowth = 8;  // Winograd's transform of f16 weights: 4 times, as f32

// Called before and after every operator when set; `begin` is true before it runs.
struct OperatorObserver {
  void (*notify)(void* context, uint32_t op_index, bool begin) = nullptr;
  void* context = nullptr;
};

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Also runs the operators that prepare constants for others. `program` and the bytes behind it
  // must outlive the executor. `mapped`: the bytes are pages of a file, which can be dropped and
  // read again. `limit_bytes`: limit of the arena and prepared constants together; 0:
  // kDefaultModelBytes and the growth of the file's. Call once.
  Status SetUp(const Program& program, int threads, bool mapped, uint64_t limit_bytes);

  const Tensor& input(uint32_t i) const { return scope_.tensor(program_->input(i)); }
  const Tensor& output(uint32_t i) const { return scope_.tensor(program_->output(i)); }
  const Scope& scope() const { return scope_; }

  // Points input i at the caller's data (its layout and type as input(i) says), which must stay
  // valid during Run.
  Status SetInput(uint32_t i, const void* data, size_t bytes);
  // Unsets the inputs whose data lies in these bytes, which their owner is about to free. They must
  // be set again before the next Run.
  void ForgetInputs(const void* begin, size_t bytes);
  // Gives the operator that reads input i, which must be its only reader, a frame of the caller's
  // memory instead, until the input is set again.
  Status SetFrame(uint32_t i, const Frame& frame);
  // Gives input i other dimensions of the same rank and infers all shapes; memory is planned again
  // unless the present plan holds. The input must be set again, and outputs become invalid. On an
  // error, sizes stay as they were.
  Status Resize(uint32_t i, const Dims& dims);
  // The same for all inputs at once, which have input_count() dims.
  Status Resize(const Dims* dims);

  // Puts the last `count` outputs into the memory of the last `count` inputs, each into that of the
  // input at its place, where no operator reads the input later. Run then overwrites the data of
  // these inputs, which must be writable. What cannot share stays in memory of its own.
  Status OverwriteInputs(uint32_t count);

  // Gives the states that the model keeps between runs their first values. An error, and no change,
  // if it keeps none.
  Status ResetStates();

  // Computes the outputs; they stay valid until the next Run. All inputs must be set. Outputs whose
  // sizes depend on data have their largest sizes before, then those of this run.
  Status Run();
  // The same, with the results in the caller's memory: `outputs` has an address for each output, or
  // null. Its memory must not overlap that of inputs. Results that are views of other memory are
  // copied there. Those whose sizes depend on data stay in the arena, and their addresses become
  // null.
  Status RunInto(void** outputs);

  void set_observer(const OperatorObserver& observer) { observer_ = observer; }
  void TimeShares(ThreadPool::Span* spans) { pool_.TimeShares(spans); }

  size_t arena_bytes() const { return arena_.bytes(); }
  size_t arena_lower_bound_bytes() const { return arena_lower_bound_bytes_; }
  // Size of the constants that were prepared when the model was set up.
  size_t prepared_bytes() const { return static_cast<size_t>(prepared_bytes_); }

 private:
  Status CreateOperators();
  // The type that selects the operator's class: that of its first input, or of the constant it
  // prepares.
  DType ComputeType(const OpRecord& op) const;
  Status SetUpOperator(uint32_t index, Tensor** pointers);
  Status CheckDataFlow();
  Status Reshape();
  Status ShareSize(uint32_t op_index);
  Status PlanArena();
  bool PartOutgrown();
  bool PlanHolds() const;
  Status KeepPlan();
  bool IsInput(uint32_t var) const;
  // executor_counts.cpp has these five, which serve results whose sizes depend on data.
  void MarkCounted(const OpRecord& op);
  Status ComputeCounted(uint32_t op_index);
  bool IsAbsent(const OpRecord& op, bool joins) const;
  Status CheckSizesKnown(uint32_t op_index);
  Status CheckOutputs() const;
  void FindAliasRoots();
  void FindLifetimes();
  void ShareInPlace();
  bool MayReuseInput(uint32_t op_index, const OperatorRow& row, uint32_t input) const;
  bool SameOffset(uint32_t x, uint32_t y) const;
  bool MayOverwrite(uint32_t x, uint32_t y) const;
  Status PrepareConstants(bool mapped);
  // Binds output i to `data`, if it has memory of its own, or to the arena again, if null.
  void BindOutput(uint32_t i, void* data);
  void BindViews();

  const Program* program_ = nullptr;
  Memory tables_;
  Scope scope_;
  ThreadPool pool_;
  OperatorObserver observer_;
  Operator** operators_ = nullptr;  // op_count
  uint8_t* operator_memory_ = nullptr;
  uint32_t* alias_root_ =
      nullptr;  // per variable: the variable whose memory it shares (alias root), or itself
  Tensor** operand_pointers_ = nullptr;
  Buffer* buffers_ = nullptr;  // one per variable, then one per operator for its scratch
  uint32_t* order_ = nullptr;
  Arena arena_;
  Arena prepared_;
  uint64_t prepared_bytes_ = 0;
  uint64_t limit_bytes_ = kMaxModelBytes;
  size_t arena_lower_bound_bytes_ = 0;
};

}  // namespace trimtab

#endif  // TRIMTAB_CORE_EXECUTOR_H_
