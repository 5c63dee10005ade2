#include "runtime/ops/gemm_driver.h"

#include <string.h>

#include "runtime/core/memory_plan.h"
#include "runtime/core/parallel.h"

namespace trimtab {

template <typename T>
void PointAtStridedRows(const void* strided_rows, GemmTiles<T>* tiles) {
  const auto& source = *static_cast<const StridedRows<T>*>(strided_rows);
  const T* row = source.x + tiles->line * source.line_stride + tiles->row * source.stride +
                 tiles->group * source.group_stride;
  const T** a = tiles->a;
  size_t i = tiles->rows;
  for (; i > 1; i -= 2, row += 2 * source.stride, a += 2) {  // one store
    a[0] = row;
    a[1] = row + source.stride;
  }
  if (i > 0) *a++ = row;
  const T** const end = tiles->a + DivideUp(tiles->rows, tiles->mr) * tiles->mr;
  while (a < end) *a++ = tiles->a[0];
  tiles->taps = 1;
  tiles->k = source.k;
}

// Fields of GemmArgs that differ between element types.
template <typename T>
struct GemmTraits {
  // Scratch memory of one kernel call, for `elements` of a tile's rows.
  static uint64_t ScratchBytes(uint64_t) { return 0; }
  static void SetScratch(void*, GemmArgs<T>*) {}
  // Sets what all calls of a job have in common.
  static void SetCommon(const Epilogue<T>& epilogue, const GemmJob<T>& job, GemmArgs<T>* args) {
    args->residual_stride = job.residual_stride;
    args->clamp_min = epilogue.clamp_min;
    args->clamp_max = epilogue.clamp_max;
  }
  // Sets the output, from element `offset` on.
  static void SetOutput(const GemmJob<T>& job, size_t offset, GemmArgs<T>* args) {
    args->c = job.c + offset;
  }
  static void SetResidual(const GemmJob<T>& job, size_t row, size_t column, GemmArgs<T>* args) {
    args->residual =
        job.residual == nullptr ? nullptr : job.residual + row * job.residual_stride + column;
  }
  // Sets the parameters per column, from a packed column on.
  static void SetColumns(const Epilogue<T>&, size_t, GemmArgs<T>*) {}
};

template <>
struct GemmTraits<int8_t> {
  // Kernels may copy the rows of a tile.
  static uint64_t ScratchBytes(uint64_t elements) { return Aligned(elements); }
  static void SetScratch(void* scratch, GemmArgs<int8_t>* args) {
    args->scratch = static_cast<int8_t*>(scratch);
  }
  static void SetCommon(const Epilogue<int8_t>& epilogue, const GemmJob<int8_t>&,
                        GemmArgs<int8_t>* args) {
    args->zero_point = epilogue.zero_point;
    args->low = epilogue.low;
    args->high = epilogue.high;
    args->kr = epilogue.kr;
    args->steps = epilogue.steps;
    args->c = nullptr;
    args->dequantized = nullptr;
  }
  static void SetOutput(const GemmJob<int8_t>& job, size_t offset, GemmArgs<int8_t>* args) {
    if (job.dequantized != nullptr) {
      args->dequantized = job.dequantized + offset;
    } else {
      args->c = job.c + offset;
    }
  }
  static void SetResidual(const GemmJob<int8_t>&, size_t, size_t, GemmArgs<int8_t>*) {}
  static void SetColumns(const Epilogue<int8_t>& epilogue, size_t column, GemmArgs<int8_t>* args) {
    args->scale = epilogue.scale + column;
    args->slope = epilogue.slope == nullptr ? nullptr : epilogue.slope + column;
  }
};

// Outputs of a part of a grouped convolution: as small as a second-level cache holds with its inputs.
constexpr size_t kPartOutputs = 1 << 15;

// Order of the work: parts of the rows, groups, column blocks, row tiles. A block is as many weight
// panels as the plan says: large weights are read from memory once, and small weights make one
// block, so inputs are read once. Each thread has one part, whose rows it also computes in the
// operators before and after: a core reads slowly what another core has written. Where there are
// too few tiles for that, or so few rows that reading all weights in every thread takes longer,
// there is one part of more, smaller blocks, which threads share.
struct GemmSchedule {
  size_t groups, blocks, tiles;
  size_t line_tiles, part_tiles;
  size_t part_items;  // groups * blocks * part_tiles: the items of one part

  size_t items() const { return DivideUp(tiles, part_tiles) * part_items; }
};

// Position in a schedule's order. An item is a row tile of a column block; the last part may have
// items past the last tile.
struct GemmCursor {
  GemmCursor(const GemmSchedule& schedule, size_t item)
      : part_end(item / schedule.part_items * schedule.part_tiles + schedule.part_tiles),
        group(item / schedule.part_tiles / schedule.blocks % schedule.groups),
        block(item / schedule.part_tiles % schedule.blocks) {
    SetTile(schedule, part_end - schedule.part_tiles + item % schedule.part_tiles);
  }

  // Advances by `count` tiles, which do not cross a line; true if another column block begins.
  // Inlined: a binary rarely has GEMMs of several types, which could share it.
  __attribute__((always_inline)) bool Advance(const GemmSchedule& schedule, size_t count) {
    tile += count;
    line_tile += count;
    if (line_tile == schedule.line_tiles) {
      line_tile = 0;
      ++line;
    }
    if (tile < part_end) return false;
    if (++block == schedule.blocks) {
      block = 0;
      if (++group == schedule.groups) {
        group = 0;
        part_end += schedule.part_tiles;
      }
    }
    SetTile(schedule, part_end - schedule.part_tiles);
    return true;
  }

  size_t part_end;  // the first tile of the next part
  size_t group, block;
  size_t tile;             // over all lines
  size_t line, line_tile;  // of `tile`

 private:
  void SetTile(const GemmSchedule& schedule, size_t index) {
    tile = index;
    line = index / schedule.line_tiles;
    line_tile = index % schedule.line_tiles;
  }
};

template <typename T>
Status GemmDriver<T>::Bind(const ProductPlan& plan, const Tensor& w, const Tensor* bias,
                           int64_t groups, int64_t columns, int64_t depth, int64_t taps,
                           int64_t zeros, int threads, int64_t buffer_bytes) {
  const KernelRef& ref = plan.kernel;
  const KernelRow* row = nullptr;
  TRIMTAB_RETURN_IF_ERROR(FindKernel(ref, FamilyHash<T>(plan.family), &row));
  TRIMTAB_CHECK(ref.mr > 0 && ref.nr > 0, "the plan's GEMM kernel has no tile");
  kernel_ = reinterpret_cast<Kernel<GemmArgs<T>>>(row->function);
  mr_ = ref.mr;
  nr_ = ref.nr;

  const int64_t padded = groups * static_cast<int64_t>(panels(static_cast<size_t>(columns)) * nr_);
  TRIMTAB_CHECK(static_cast<int64_t>(w.bytes / sizeof(T)) >= padded * depth,
                "packed weights are too short", padded * depth,
                static_cast<int64_t>(w.bytes / sizeof(T)));
  constexpr size_t kBiasBytes = sizeof(*GemmJob<T>::bias);
  TRIMTAB_CHECK(bias == nullptr || static_cast<int64_t>(bias->bytes / kBiasBytes) >= padded,
                "packed bias is too short", padded);

  panels_ = static_cast<size_t>(plan.panels);
  call_tiles_ = static_cast<size_t>(plan.call_tiles);
  const uint64_t zeros_bytes = Aligned(static_cast<uint64_t>(zeros) * sizeof(T));
  const uint64_t pointers_bytes =
      Aligned(static_cast<uint64_t>(taps * plan.call_tiles) * mr_ * sizeof(T*));
  zeros_bytes_ = static_cast<size_t>(zeros_bytes);
  pointers_bytes_ = static_cast<size_t>(pointers_bytes);
  const uint64_t kernel_scratch_bytes =
      GemmTraits<T>::ScratchBytes(static_cast<uint64_t>(depth) * mr_);
  const uint64_t thread_bytes =
      pointers_bytes + kernel_scratch_bytes + Aligned(static_cast<uint64_t>(buffer_bytes));
  kernel_scratch_bytes_ = static_cast<size_t>(kernel_scratch_bytes);
  thread_bytes_ = static_cast<size_t>(thread_bytes);
  scratch_bytes_ = zeros_bytes + thread_bytes * static_cast<uint64_t>(threads);
  return Status();
}

template <typename T>
const T* GemmDriver<T>::Zeros(void* scratch, int byte) const {
  memset(scratch, byte, zeros_bytes_);
  return static_cast<const T*>(scratch);
}

template <typename T>
template <bool kSkipsTaps>
void GemmDriver<T>::Run(const GemmJob<T>& job, const Epilogue<T>& epilogue, void* scratch,
                        ThreadPool& pool) const {
  const size_t threads = static_cast<size_t>(pool.threads());
  const size_t all_panels = panels(job.columns);
  const size_t line_tiles = DivideUp(job.line_rows, mr_);
  const size_t tiles = job.lines * line_tiles;
  if (tiles == 0) return;
  size_t blocks = DivideUp(all_panels, panels_);
  const size_t rows = job.lines * job.line_rows;
  size_t part_tiles = DivideUp(tiles, threads);
  const size_t part_rows =
      part_tiles % line_tiles == 0 ? part_tiles / line_tiles * job.line_rows : part_tiles * mr_;
  const bool heavy = part_rows < mr_ &&
                     ReadingTakesLonger(job.depth * job.columns, rows * (job.depth + job.columns));
  if (heavy || !FillsThreads(part_rows, threads, rows)) part_tiles = tiles;
  if (part_tiles == tiles) {
    while (blocks < all_panels && job.groups * tiles * blocks < kBlocksPerThread * threads)
      blocks *= 2;
  }
  if (job.groups > 1) {
    // Each group reads its piece of all pixels: those of a smaller part stay in the cache meanwhile.
    const size_t outputs = part_tiles * mr_ * job.columns * job.groups;
    const size_t weights = job.depth * job.columns * job.groups;
    part_tiles = DivideUp(part_tiles, Min(outputs / kPartOutputs, outputs / weights) + 1);
  }
  const size_t block_panels = DivideUp(all_panels, blocks);
  blocks = DivideUp(all_panels, block_panels);
  const GemmSchedule schedule{job.groups, blocks,     tiles,
                              line_tiles, part_tiles, job.groups * blocks * part_tiles};
  const size_t cost = mr_ * block_panels * nr_ * job.depth;

  pool.For(schedule.items(), cost, [&](size_t begin, size_t end, int thread) {
    using Traits = GemmTraits<T>;
    auto* const pointers =
        reinterpret_cast<const T**>(static_cast<uint8_t*>(scratch) + zeros_bytes_ +
                                    static_cast<size_t>(thread) * thread_bytes_);
    uint8_t* const kernel_scratch = reinterpret_cast<uint8_t*>(pointers) + pointers_bytes_;
    void* const buffer = kernel_scratch + kernel_scratch_bytes_;
    GemmArgs<T> args;
    Traits::SetScratch(kernel_scratch, &args);
    args.a = pointers;
    args.c_stride = job.row_stride;
    Traits::SetCommon(epilogue, job, &args);
    args.mr = static_cast<uint16_t>(mr_);
    args.nr = static_cast<uint16_t>(nr_);
    GemmCursor at(schedule, begin);
    // Computed per column block, because a tile of small depth takes few instructions.
    size_t first_column = 0;  // of the output
    const auto begin_block = [&] {
      const size_t panel = at.group * all_panels + at.block * block_panels;
      const size_t column = at.block * block_panels * nr_, columns = job.columns - column;
      const size_t block_columns = block_panels * nr_;
      first_column = at.group * job.columns + column;
      args.w = job.w + panel * nr_ * job.depth;
      args.bias = job.bias == nullptr ? nullptr : job.bias + panel * nr_;
      Traits::SetColumns(epilogue, panel * nr_, &args);
      args.columns = columns < block_columns ? columns : block_columns;
    };
    begin_block();
    size_t count = 1;
    for (size_t item = begin; item < end; item += count) {
      count = 1;
      if (at.tile < schedule.tiles) {
        count = Min(Min(call_tiles_, end - item),
                    Min(schedule.line_tiles - at.line_tile, at.part_end - at.tile));
        const size_t row = at.line_tile * mr_;
        GemmTiles<T> call{at.group, at.line,  row,    Min(count * mr_, job.line_rows - row),
                          mr_,      pointers, buffer, 0,
                          0};
        job.point(job.context, &call);
        count = DivideUp(call.rows, mr_);
        Traits::SetResidual(job, row, first_column, &args);
        Traits::SetOutput(job, at.line * job.line_stride + row * job.row_stride + first_column,
                          &args);
        args.taps = call.taps;
        args.k = call.k;
        args.rows = call.rows;
        if constexpr (kSkipsTaps) {
          args.a = call.a;
          const size_t skipped = static_cast<size_t>(call.a - pointers) / mr_ * call.k;
          args.w = job.w + ((at.group * all_panels + at.block) * job.depth + skipped) * nr_;
        }
        kernel_(args);
        epilogue.Activate(args.c, call.rows, args.columns, job.row_stride);
      }
      if (at.Advance(schedule, count)) begin_block();
    }
  });
}

template void PointAtStridedRows<float>(const void*, GemmTiles<float>*);
template void PointAtStridedRows<Half>(const void*, GemmTiles<Half>*);
template class GemmDriver<float>;
template class GemmDriver<Half>;
template void PointAtStridedRows<int8_t>(const void*, GemmTiles<int8_t>*);
template class GemmDriver<int8_t>;
template void GemmDriver<float>::Run<false>(const GemmJob<float>&, const Epilogue<float>&, void*,
                                            ThreadPool&) const;
template void GemmDriver<Half>::Run<false>(const GemmJob<Half>&, const Epilogue<Half>&, void*,
                                           ThreadPool&) const;
template void GemmDriver<int8_t>::Run<false>(const GemmJob<int8_t>&, const Epilogue<int8_t>&, void*,
                                             ThreadPool&) const;
template void GemmDriver<float>::Run<true>(const GemmJob<float>&, const Epilogue<float>&, void*,
                                           ThreadPool&) const;
template void GemmDriver<Half>::Run<true>(const GemmJob<Half>&, const Epilogue<Half>&, void*,
                                          ThreadPool&) const;

}  // namespace trimtab
