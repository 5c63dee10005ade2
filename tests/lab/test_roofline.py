"""The arithmetic of the roofline, and the timing of every kernel."""

from __future__ import annotations

from collections import Counter

import pytest

import trimtab
from lab.roofline import layers, report, timing
from lab.roofline.machine import Level, Machine, data_caches, working_sets
from lab.roofline.measure import time_kernels, time_operators
from lab.roofline.timing import TimedOperator
from tests.planner.test_planner import convolution
from tests.recorded_progress import RecordedProgress
from tests.some import some
from trimtab import cores, kernels, passes, paths, tables, zoo
from trimtab.planner import algorithms, planner
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.plan_file import Plan
from trimtab.profile import find_profile
from trimtab.program import Program, inspection
from trimtab.target import Target

HASWELL = Target.of("x86_64", "haswell")
MACHINE = Machine(
    {"avx2": 100.0, "portable": 10.0},
    (Level("L1", 1000, 100.0), Level("L2", 10_000, 50.0), Level("memory", float("inf"), 10.0)),
)


def moving(bytes: int) -> KernelCall:
    return KernelCall("UnaryArgs", "f32", (("n", bytes // 8),), 0, bytes)


def decided(name: str, target: Target, plan: Plan | None = None) -> Program:
    path = zoo.write(name, paths.cache() / "zoo")
    return planner.decide(passes.optimize(trimtab.load(path)), target, plan or Plan())


def test_gemm_with_much_arithmetic_is_limited_by_multiply_adds() -> None:
    layer = KernelCall("GemmArgs", "f32", (), 100_000, 1000)
    assert MACHINE.limit(layer, "avx2") == (1000.0, "FMA")
    assert MACHINE.limit(layer, "portable") == (10_000.0, "FMA")


def test_gemm_with_much_data_is_limited_by_memory() -> None:
    assert MACHINE.limit(KernelCall("GemmArgs", "f32", (), 100, 1000), "avx2") == (10.0, "L1")


@pytest.mark.parametrize(
    ("bytes", "ns", "level"),
    [
        (500, 5.0, "L1"),
        (1000, 10.0, "L1"),
        (3000, 10.0 + 2000 / 50, "L2"),
        (20_000, 10.0 + 9000 / 50 + 10_000 / 10, "memory"),
    ],
)
def test_a_cache_holds_a_part_of_larger_data(bytes: int, ns: float, level: str) -> None:
    limit, name = MACHINE.limit(moving(bytes), "avx2")
    assert limit == pytest.approx(ns)
    assert name == level


def test_the_memory_is_timed_beyond_the_last_cache_of_the_core() -> None:
    caches = data_caches(cores.find("cortex-a76", "aarch64"))
    assert caches == {"L1": 64 << 10, "L2": 512 << 10, "L3": 2 << 20}
    sets = {"L1": 32 << 10, "L2": 256 << 10, "L3": 1 << 20, "memory": 8 << 20}
    assert working_sets(caches) == sets
    assert set(data_caches(cores.find("cortex-a53", "aarch64"))) == {"L1", "L2"}


def test_the_layers_of_a_kernel_are_its_heaviest_its_smallest_and_its_largest() -> None:
    counts = Counter({moving(size): weight for size, weight in enumerate((1, 7, 9, 8, 2, 3), 10)})
    assert [x.bytes for x in layers.select(counts, 4)] == [10, 12, 13, 15]
    assert [x.bytes for x in layers.select(counts, 1)] == [12]
    assert len(layers.select(counts, 99)) == 6
    assert layers.select(Counter(), 4) == ()


def test_a_kernel_that_no_network_calls_gets_layers_of_its_argument_type() -> None:
    by_kernel = {"sigmoid_f32_avx2": Counter({moving(4096): 1})}
    erf = kernels.kernel("erf_f32_avx2")
    assert layers.assign([erf], by_kernel, 4) == {"erf_f32_avx2": (moving(4096),)}


def test_a_winograd_kernel_gets_no_layer_of_another_tile() -> None:
    planned = planner.decide(convolution(64, 64, size=56, window=3), HASWELL, Plan(accuracy="fast"))
    by_kernel = layers.collect([planned])
    others = [kernels.kernel(f"winograd_input_f32_{size}_avx2") for size in (4, 8)]
    assigned = layers.assign(others, by_kernel, 4)
    assert assigned["winograd_input_f32_4_avx2"] == ()
    assert [dict(x.sizes)["tile"] for x in assigned["winograd_input_f32_8_avx2"]] == [6]


@pytest.mark.parametrize("name", ["mobilenet_v1", "shufflenet_v2", "squeezenet"])
def test_the_layers_of_a_network_have_its_multiply_accumulates(name: str) -> None:
    program = decided(name, HASWELL, Plan(("depthwise", "direct")))
    calls = [(layer, count) for _, layer, count in layers.layers_of(program) if layer.operations]
    assert sum(x.operations * count for x, count in calls) == 2 * inspection.inspect(program).macs


def test_gemm_reads_its_taps_from_overlapping_rows() -> None:
    layer = gemm_call("f32", rows=100, columns=16, k=9, taps=3, step=3, line=10)
    assert layer.operations == 2 * 100 * 16 * 27
    assert layer.bytes == 4 * ((100 + 2 * 10) * 3 + 16 * 27 + 100 * 16)


def test_the_figures_are_the_medians_of_the_rounds() -> None:
    durations = iter([100.0, 900.0, 200.0])
    kernel, layer = "gemm_f32_6x16_avx2", gemm_call("f32", 10, 16, 100)

    def timer(name: str, args_type: str, sizes: dict[str, int], least_ns: float) -> float:
        if name == kernel:
            assert args_type == "GemmArgs<float>"
            assert sizes.items() >= {"rows": 10, "mr": 6, "nr": 16}.items()
            return next(durations)
        return sizes["n"] / 50.0  # 100 GFLOP/s; 200 GB/s read, 400 copied

    machine, (timed,) = timing.time_kernels({kernel: [layer]}, 3, timer)
    assert machine.peaks == {"avx2": pytest.approx(100.0)}
    assert [level.rate for level in machine.levels] == pytest.approx([400.0] * len(machine.levels))
    assert (timed.ns, timed.limit, timed.unit) == (200.0, "FMA", "GFLOP/s")
    assert timed.rate == pytest.approx(2 * 10 * 16 * 100 / 200.0)
    assert timed.share == pytest.approx(timed.rate / 100.0)
    page = tables.markdown(report.kernels_page(machine, [timed]))
    assert "| rows=10 columns=16 k=100 step=100 | 0.2 | 160.0 GFLOP/s |  160% | FMA " in page
    (row,) = report.kernels_facts(machine, [timed])["kernels"]
    assert (row["share"], row["limit"]) == (1.6, "FMA")


def test_operators_are_summed_by_kind() -> None:
    kinds = timing.by_kind(
        [
            TimedOperator("a", "conv 1x1", "gemm", (1,), 100, 10.0, 0.5),
            TimedOperator("b", "conv 1x1", "gemm", (1,), 300, 30.0, 0.9),
            TimedOperator("c", "softmax", "", (1,), 0, 50.0, None),
        ]
    )
    assert list(kinds) == ["softmax", "conv 1x1"]
    assert kinds["conv 1x1"]["gflops"] == pytest.approx(2 * 400 / 40)
    assert kinds["conv 1x1"]["share"] == pytest.approx((5 + 27) / 40)
    assert kinds["softmax"]["share"] is None


@pytest.fixture(scope="module")
def portable_layers() -> dict[str, Counter[KernelCall]]:
    """Layers of networks with all kinds of operators, for portable kernels and all algorithms."""
    target = Target.portable(Target.host().arch)
    return layers.collect(
        decided(name, target, Plan((algorithm,)))
        for name, chosen in (
            ("mobilenet_v3_small", algorithms.names()),
            ("googlenet", algorithms.names()),
            ("resnet18", ("winograd_2_strided",)),
        )
        for algorithm in chosen
    )


def test_every_kernel_of_this_machine_can_be_timed(
    portable_layers: dict[str, Counter[KernelCall]],
) -> None:
    host = Target.host()
    for kernel in some(find_profile("full").kernels_for(host.arch)):
        if kernel.isa not in host.isas:
            continue
        chosen = layers.assign([kernel], portable_layers, 1)[kernel.name]
        assert chosen, f"roofline/layers.py has no layers with {kernel.args_type}"
        machine, timed = timing.time_kernels(
            {kernel.name: [min(chosen, key=lambda x: x.work)]}, 1, _once
        )
        assert timed[0].ns > 0
        assert machine.peaks[kernel.isa] > 0


def _once(name: str, args_type: str, sizes: dict[str, int], _: float) -> float:
    """The engine's timer with minimum work: one pass, and small loops for the limits."""
    from trimtab.engine import engine

    small = {"n": min(sizes["n"], 12288)} if args_type == "UnaryArgs<float>" else {}
    return float(engine().time_kernel(name, args_type, sizes | small, 1.0))


def test_the_task_times_kernels_on_the_layers_of_a_network() -> None:
    chosen = [k for k in kernels.inventory().values() if k.family == "max_pool"]
    here = [k for k in chosen if k.isa in Target.host().isas]
    progress = RecordedProgress()
    machine, timed = time_kernels(here, ["squeezenet"], 1, 1, progress)
    assert [t.kernel for t in timed] == here
    assert set(machine.peaks) == {k.isa for k in here}
    assert all(0 < t.share < 100 for t in timed)
    assert progress.lines[-2:] == ["plan the networks", "time kernels on layers"]
    assert progress.still == ["time kernels on layers"]
    assert progress.last == (len(here), len(here))


def test_the_task_times_the_operators_of_a_network() -> None:
    _, timed = time_operators("squeezenet", 1)
    kinds = timing.by_kind(timed)
    assert {"conv 1x1", "max_pool"} <= set(kinds)
    assert all(op.ns > 0 for op in timed)
    assert sum(op.share is not None for op in timed) == sum(op.macs > 0 for op in timed)


def test_kernels_that_measure_the_machine_are_not_in_binaries_for_devices() -> None:
    for arch in ("x86_64", "aarch64", "armv7", "riscv64"):
        families = {k.family for k in find_profile("full").kernels_for(arch)}
        measuring = {k.family for k in kernels.instruments(arch, families)}
        assert measuring == {"peak", "read", "copy"}
        assert not measuring & families
