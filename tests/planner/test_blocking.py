"""Block sizes for the caches of a core; the expected numbers are computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.planner.test_planner import A53, convolution
from trimtab import kernels
from trimtab.cores import Cache
from trimtab.planner import blocking, gemm_work, planner
from trimtab.planner.algorithms.direct import Direct
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Op, Program, Var
from trimtab.target import Target

KB = 1024
GENERIC = Target.of("x86_64")  # 512 KB, 32 KB of 8 ways


def with_caches(target: Target, l1d: Cache | None = None, l2: Cache | None = None) -> Target:
    core = replace(target.core, l1d=l1d or target.core.l1d, l2=l2 or target.core.l2)
    return replace(target, core=core)


def cut(program: Program, target: Target, algorithm: str = "") -> dict[str, object]:
    """The numbers of the plan of a program of one operator."""
    plan = Plan(operators={"conv": Choice(algorithm)} if algorithm else {})
    (op,) = planner.plan(program, target, plan).steps
    return {a.name: op.attributes[a.name] for a in op.schema.attributes if a.plan}


@pytest.mark.parametrize(
    ("cache", "step", "lines"),
    [
        (Cache(32 * KB, 8, 64), 4096, 8),  # one set
        (Cache(32 * KB, 8, 64), 2048, 16),
        (Cache(32 * KB, 8, 64), 64, 512),  # all of it
        (Cache(32 * KB, 8, 64), 3 * 1024, 32),
        (Cache(32 * KB, 8, 64), 8192, 8),
        (Cache(32 * KB, 4, 64), 4096, 8),  # a way is 8 KB
        (Cache(32 * KB, 2, 64), 16384, 2),
        (Cache(48 * KB, 12, 64), 4096, 12),
    ],
)
def test_a_cache_holds_one_line_per_way_of_each_reachable_set(
    cache: Cache, step: int, lines: int
) -> None:
    assert blocking.resident_lines(cache, step) == lines


# 4x16 tiles of a Cortex-A53; 256 KB of weights, 16 KB of inputs.
@pytest.mark.parametrize(
    ("c_in", "c_out", "panels", "call_tiles"),
    [
        (64, 64, 4, 8),  # all panels; 8 tiles at most
        (500, 512, 8, 2),  # a panel has 32,000 bytes, a tile 8000
        (8192, 64, 1, 1),  # a panel has 512 KB
    ],
)
def test_gemm_blocks_fill_half_of_each_cache(
    c_in: int, c_out: int, panels: int, call_tiles: int
) -> None:
    values = cut(convolution(c_in, c_out), A53, "direct")
    assert (values["panels"], values["call_tiles"]) == (panels, call_tiles)


def test_larger_caches_have_larger_blocks() -> None:
    small = cut(convolution(500, 512), A53, "direct")
    larger = with_caches(A53, Cache(64 * KB, 4, 64), Cache(1024 * KB, 16, 64))
    large = cut(convolution(500, 512), larger, "direct")
    assert (small["panels"], large["panels"]) == (8, 16)
    assert (small["call_tiles"], large["call_tiles"]) == (2, 4)


def test_only_the_largest_phase_of_a_transposed_convolution_must_fit() -> None:
    program = Program("net")
    program.add_input("x", (1, 512, 8, 8))
    program.vars["w"] = Var("w", (512, 64, 4, 4), data=convolution(1, 1).vars["w"].data)
    program.vars["y"] = Var("y", (1, 64, 16, 16), layout="nhwc")
    window = {"strides": (2, 2), "pads": (1, 1, 1, 1), "dilations": (1, 1)}
    op = Op("conv_transpose", ["x", "w"], ["y"], {**window, "group": 1}, "up")
    op.attributes |= {"kernel": "gemm_f32_4x16_neon"}
    # Four taps of 512 channels: a panel of 16 columns has 128 KB.
    assert Direct().block_sizes(program, op, A53) == {"panels": 2, "call_tiles": 1}


@pytest.mark.parametrize(("target", "gap"), [(Target.of("x86_64", "skylake-avx512"), 16), (A53, 0)])
def test_conflicting_rows_of_a_tile_are_copied_with_padding(target: Target, gap: int) -> None:
    """A cache of 8 ways holds 8 of 14 rows, 4096 bytes apart; a tile of 4 rows always fits."""
    program = convolution(1024, 64, window=3, pads=(1, 1, 1, 1))
    assert cut(program, target, "direct")["gap"] == gap


def test_a_winograd_block_fills_three_quarters_of_the_cache_or_balances_the_weights() -> None:
    # 36 elements of 64 + 64 channels and two gaps of 16: 4640 floats of 98304, in tiles of 4 rows.
    program = convolution(64, 64, size=56, window=3)
    assert cut(program, A53, "winograd_4")["block"] == 24
    # 512 * 512 / (2 * 1024), while 2 tiles would fit.
    assert cut(convolution(512, 512, window=3), A53, "winograd_4")["block"] == 128
    two = replace(A53, threads=2)
    assert cut(convolution(512, 512, window=3), two, "winograd_4")["block"] == 64


def test_threads_divide_a_shared_cache() -> None:
    program = convolution(64, 64, size=56, window=3)
    four = replace(A53, threads=4)
    assert cut(program, four, "winograd_4")["block"] == 8  # 24576 floats
    own = with_caches(four, l2=Cache(512 * KB, 16, 64, shared_by=1))
    assert cut(program, own, "winograd_4")["block"] == 24


def test_a_strassen_block_has_whole_tiles_in_both_halves() -> None:
    values = cut(convolution(128, 128, size=56), A53, "strassen")
    assert values["block"] == 384  # of 98304 / 256
    assert (values["gap"], values["copies"]) == (16, False)
    wide = Target.of("x86_64", "skylake-avx512")
    assert cut(convolution(1024, 512, size=56), wide, "strassen")["copies"]


# Pointers to taps of 2 rows of 3x3 windows, 5 to a column for up to 3 rows: a quarter of 32 KB are
# 1024 of 8 bytes, so 64 pixels of 66 columns fit, and those of 5x5 windows with strides of 2, 9 to
# a column, do not: 56 fit. A 31x31 window alone has nearly that many.
@pytest.mark.parametrize(
    ("width", "window", "stride", "pixels"),
    [
        (112, 3, 1, 56),
        (300, 3, 1, 60),
        (14, 3, 1, 16),
        (120, 5, 2, 40),
        (7, 3, 1, 8),
        (56, 31, 1, 28),
    ],
)
def test_pieces_of_a_line_are_equal_and_have_few_pointers(
    width: int, window: int, stride: int, pixels: int
) -> None:
    program = convolution(
        16, 16, group=16, size=width, window=window, strides=(stride, stride), pads=(1, 1, 1, 1)
    )
    assert cut(program, A53) == {
        "kernel": "depthwise_f32_16_neona53",
        "activation_kernel": "",
        "rows": 2,
        "pixels": pixels,
    }


def test_rows_without_shared_taps_are_computed_one_by_one() -> None:
    assert cut(convolution(16, 16, 16, window=3, dilations=(2, 2)), A53)["rows"] == 1
    assert cut(convolution(16, 16, 16, window=3, strides=(4, 4)), A53)["rows"] == 1


def test_results_of_an_addition_fill_an_eighth_of_the_cache() -> None:
    program = Program("net")
    for name in ("a", "b"):
        program.add_input(name, (1, 8))
    program.outputs = program.block.add_op("add", ["a", "b"], {}, ["y"], "add")
    assert planner.plan(program, A53).steps[0].attributes["elements"] == 16384
    huge = with_caches(A53, l2=Cache(64 << 20, 16, 64))
    assert (
        planner.plan(program, huge).steps[0].attributes["elements"] == 65535
    )  # the largest value in a plan


@pytest.mark.parametrize(
    ("l1d", "channels", "spaced"),
    [
        (Cache(32 * KB, 8, 64), 512, True),  # 2048 bytes: 16 pixels
        (Cache(32 * KB, 8, 64), 256, False),
        (Cache(32 * KB, 8, 64), 1536, True),
        (Cache(32 * KB, 8, 64), 768, False),
        (Cache(32 * KB, 4, 64), 512, True),
        (Cache(64 * KB, 4, 64), 512, False),
        (Cache(64 * KB, 4, 64), 1024, True),
    ],
)
def test_conflicting_pixels_are_padded(l1d: Cache, channels: int, spaced: bool) -> None:
    program = convolution(16, channels)
    program.vars["z"] = replace(program.vars["y"], name="z")
    second = Op("conv", ["y", "w2"], ["z"], dict(program.ops[0].attributes), "second")
    program.vars["w2"] = convolution(channels, channels).vars["w"]
    program.vars["w2"].name = "w2"
    program.ops.append(second)
    program.outputs = ["z"]
    planned = planner.plan(program, with_caches(GENERIC, l1d))
    assert bool(planned.vars["y"].parent) == spaced
    if spaced:
        assert planned.vars[planned.vars["y"].parent].shape[1] == channels + 16


@pytest.mark.parametrize("cpu", ["zen4", "haswell"])
def test_the_cost_of_sums_is_from_the_core_or_its_instruction_set(cpu: str) -> None:
    target, kernel = Target.of("x86_64", cpu), kernels.kernel("gemm_f32_6x16_avx2")
    assert gemm_work.sum_cost(target, kernel) == 1.65
    slow = replace(target, core=replace(target.core, sum_cost=2.5))
    assert gemm_work.sum_cost(slow, kernel) == 2.5
    assert gemm_work.sum_cost(slow, kernels.kernel("gemm_f32_portable")) == 1
