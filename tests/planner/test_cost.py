"""The cost model: its bounds, and the plans for fast and slow memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies

from tests.planner.test_planner import A53, chosen, convolution
from tests.some import some
from trimtab import cores, kernels
from trimtab.cores import Cache, Memory
from trimtab.kernels import Kernel
from trimtab.planner import algorithms, planner
from trimtab.planner import cost as model
from trimtab.planner.algorithms import DIRECT
from trimtab.planner.cost import STALLS, Cost, Work, bytes_per_cycle
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Op, Program
from trimtab.target import Target

PROGRAM = convolution(64, 64, size=56, window=3)
KERNEL = chosen(PROGRAM)


def with_memory(target: Target, core_gb_per_s: float, bus_gb_per_s: float = 0) -> Target:
    memory = Memory(1.0, bus_gb_per_s or core_gb_per_s, core_gb_per_s)
    return replace(target, core=replace(target.core, memory=memory))


def best(program: Program, target: Target) -> str:
    (op,) = planner.decide(program, target, Plan(accuracy="fast")).ops
    result = algorithms.algorithm_of(op)
    return result.name if result else ""


def works(program: Program, target: Target) -> dict[str, tuple[Work, Kernel]]:
    """The work of each algorithm that can compute the program's operator, by its name."""
    result = {}
    for name in algorithms.lower(program, program.ops[0], target):
        decided = planner.decide(program, target, Plan(operators={"conv": Choice(name)}))
        (op,) = decided.ops
        kernel = kernels.kernel(op.attributes["kernel"])
        result[name] = algorithms.registry()[name].work(decided, op, kernel, target), kernel
    return result


def cost(program: Program, op: Op, work: Work, kernel: Kernel, target: Target) -> Cost:
    return model.cost(program, op, work, kernel, target, program.constant_bytes(), DIRECT)


def cycles(work: Work, target: Target, program: Program = PROGRAM) -> float:
    return cost(program, program.ops[0], work, KERNEL, target).cycles


@given(
    strategies.builds(
        Work,
        strategies.integers(0, 10**10),
        strategies.integers(1, 10**8),
        strategies.integers(1, 50),
        strategies.integers(0, 10**8),
    )
)
def test_the_cost_is_at_least_that_of_instructions_and_of_memory(work: Work) -> None:
    last = None
    for threads in (1, 2, 3, 4, 8):
        target = replace(A53, threads=threads)
        result = cost(PROGRAM, PROGRAM.ops[0], work, KERNEL, target)
        per_cycle = target.core.pipes.f32_fmas_per_cycle * threads
        assert result.cycles >= STALLS * work.operations / per_cycle
        assert result.cycles >= result.bytes / bytes_per_cycle(target)
        assert result.bytes >= work.spilled_bytes
        assert last is None or result.cycles <= last
        last = result.cycles


def test_threads_share_instructions_and_bandwidth() -> None:
    target = with_memory(A53, 2.0, 3.0)
    assert [bytes_per_cycle(replace(target, threads=n)) for n in (1, 2, 4)] == [2.0, 3.0, 3.0]
    alone, all_four = (replace(target, threads=n) for n in (1, 4))
    computing = Work(10**9, 0)
    assert cycles(computing, alone) / cycles(computing, all_four) == pytest.approx(4, rel=0.01)
    reading = Work(0, 10**8)
    assert cycles(reading, alone) / cycles(reading, all_four) == pytest.approx(1.5, rel=0.01)


def test_weights_that_the_cache_keeps_between_inferences_are_not_read_from_memory() -> None:
    own = PROGRAM.vars["w"].bytes
    for l2, l3, stays_cached in (
        (own + 1024, None, True),
        (own - 1024, None, False),
        (1024, own + 1024, True),
    ):
        core = replace(A53.core, l2=Cache(l2, 1, 64), l3=Cache(l3, 1, 64) if l3 else None)
        target = replace(A53, core=core)
        result, none = (
            cost(PROGRAM, PROGRAM.ops[0], Work(0, weights), KERNEL, target).bytes
            for weights in (own, 0)
        )
        assert (result == none) == stays_cached


def test_only_one_cores_part_of_a_third_level_stays_cached() -> None:
    own = PROGRAM.vars["w"].bytes
    for sharers, stays_cached in ((1, True), (4, False)):
        l3 = Cache(2 * own, 1, 64, shared_by=sharers)
        target = replace(A53, core=replace(A53.core, l2=Cache(1024, 1, 64), l3=l3), threads=4)
        result, none = (
            cost(PROGRAM, PROGRAM.ops[0], Work(0, weights), KERNEL, target).bytes
            for weights in (own, 0)
        )
        assert (result == none) == stays_cached


def test_tensors_larger_than_the_last_cache_are_read_and_written_once() -> None:
    image = PROGRAM.vars["x"].bytes
    assert image == PROGRAM.vars["y"].bytes == 56 * 56 * 64 * 4
    limit = image * 4 // 3  # three quarters of a cache
    for size, moved in ((limit - 1024, 2 * image), (limit + 1024, 0)):
        target = replace(A53, core=replace(A53.core, l2=Cache(size, 1, 64)))
        assert cost(PROGRAM, PROGRAM.ops[0], Work(0, 0), KERNEL, target).bytes == moved


def test_an_element_wise_operator_pays_for_tensors_that_its_cache_does_not_keep() -> None:
    program = Program("add")
    program.add_input("x", (1, 64, 32, 32))
    program.outputs = program.block.add_op("relu", ["x"])
    tensor = program.vars["x"].bytes
    result = {}
    for name, size in (("kept", tensor * 4 // 3 + 1024), ("moved", tensor * 4 // 3 - 1024)):
        target = replace(A53, core=replace(A53.core, l2=Cache(size, 1, 64)))
        result[name] = model.element_wise_cycles(program, program.ops[0], None, target)
    expected = 2 * tensor / bytes_per_cycle(A53)  # one is read, one is written
    assert result["moved"] - result["kept"] == pytest.approx(expected)


def test_unlimited_bandwidth_minimizes_instructions() -> None:
    fast = with_memory(A53, 1e9)
    for program in (
        PROGRAM,
        convolution(512, 512, size=7, window=3),
        convolution(512, 512, size=7),
    ):
        result = {name: work.operations for name, (work, _) in works(program, fast).items()}
        assert best(program, fast) == min(result, key=lambda name: result[name])


def test_slow_memory_minimizes_traffic() -> None:
    slow = with_memory(A53, 1e-6)
    for program in (
        PROGRAM,
        convolution(512, 512, size=7, window=3),
        convolution(512, 512, size=7),
    ):
        (op,) = program.ops
        result = {
            name: cost(program, op, work, kernel, slow).bytes
            for name, (work, kernel) in works(program, slow).items()
        }
        assert best(program, slow) == min(result, key=lambda name: result[name]) == "direct"


def test_more_threads_reduce_winograd_tiles_and_strassen() -> None:
    """The bus is shared: what saves instructions at the price of weights is worth less."""
    small, late = convolution(512, 512, size=7, window=3), convolution(512, 512, size=14)
    result = []
    for threads in (1, 4):
        target = replace(A53, threads=threads)
        result.append(
            (works(small, target)[best(small, target)][0].weight_bytes, best(late, target))
        )
    (alone, one), (together, four) = result
    assert together < alone
    assert (one, four) == ("strassen", "direct")


def test_weights_that_blocks_evict_are_read_for_each_of_them() -> None:
    program = convolution(64, 64, size=112, window=3)
    huge = replace(A53, core=replace(A53.core, l2=Cache(64 << 20, 1, 64)))
    for name, (work, _) in some(works(program, A53).items()):
        assert (work.passes > 1) == name.startswith("winograd")
        assert works(program, huge)[name][0].passes == 1


def test_a_core_without_memory_figures_uses_those_of_the_generic_core() -> None:
    haswell, generic = Target.of("x86_64", "haswell"), Target.of("x86_64")
    assert haswell.core.memory is None
    assert bytes_per_cycle(haswell) == bytes_per_cycle(generic)
    wider = replace(haswell, core=replace(haswell.core, pipes=generic.core.pipes))
    twice = replace(wider.core.pipes, f32_fmas_per_cycle=2 * wider.core.pipes.f32_fmas_per_cycle)
    wider = replace(wider, core=replace(wider.core, pipes=twice))
    assert bytes_per_cycle(wider) == 2 * bytes_per_cycle(generic)


@pytest.mark.parametrize(
    "arch", sorted({arch for core in cores.all_cores() for arch in core.features})
)
def test_the_generic_core_of_an_architecture_has_a_memory(arch: str) -> None:
    assert cores.find(cores.GENERIC, arch).memory is not None


def test_intermediate_values_pass_through_the_second_level() -> None:
    """Each is written and read again, at the rate of the core's file."""
    work, target = Work(10**6, 10**3, buffered_bytes=3_200), Target.of("x86_64", threads=2)
    rates = (0, 32)
    pipes = [replace(target.core.pipes, l2_bytes_per_cycle=rate) for rate in rates]
    free, paid = (cycles(work, replace(target, core=replace(target.core, pipes=p))) for p in pipes)
    assert paid - free == pytest.approx(2 * 3_200 / 32 / 2)


def test_narrow_vectors_do_not_fill_wide_pipes() -> None:
    """AVX2 does half of the multiply-adds of a core with two pipes of AVX-512."""
    target, work = Target.of("x86_64", "sapphirerapids"), Work(10**6, 0)
    wide, narrow = (
        kernels.kernel(name) for name in ("gemm_f32_14x32_avx512", "gemm_f32_6x16_avx2")
    )
    both = [cost(PROGRAM, PROGRAM.ops[0], work, kernel, target).cycles for kernel in (wide, narrow)]
    assert both[1] - both[0] == pytest.approx(STALLS * 10**6 / 32)
