"""A fitted core: its file, the plans that it changes, and a whole fit on this machine."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.some import some
from trimtab import cores, kernels, passes
from trimtab.cores import Core, Fit, KernelFit
from trimtab.fitting import bed, memory, pricing, regret, report, row, shapes
from trimtab.fitting.bed import COLD, WARM, Copied, Way
from trimtab.fitting.fit import FitRequest, fit
from trimtab.fitting.measure import Time
from trimtab.fitting.pricing import TimedWay
from trimtab.fitting.shapes import DrawnLayer
from trimtab.pipeline.resolve import load_program
from trimtab.planner import algorithms, planner
from trimtab.planner.plan_file import Plan
from trimtab.target import Target

ZEN4 = Target.of("x86_64", "zen4")
LAYER = DrawnLayer("f32", 28, 64, 64, 3)
EMPTY = Fit("2026-11-26", "a machine", "ns", 1.0, hand_over=900.0, cache_bytes=8 << 20)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of the user's own cores."""
    monkeypatch.setenv("TRIMTAB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "cores").mkdir()
    return tmp_path / "cores"


def ways(layers: list[DrawnLayer], target: Target = ZEN4) -> list[Way]:
    timed = bed.make(target, layers).timed.values()
    return [one for one in timed if isinstance(one, Way)]


def test_the_list_of_layers_is_the_same_each_time_and_holds_some_out() -> None:
    fitted, held_out = shapes.draw(ZEN4)
    assert (fitted, held_out) == shapes.draw(ZEN4)
    assert shapes.draw(ZEN4, seed=1)[0] != fitted
    assert not {*fitted} & {*held_out}
    assert len(held_out) >= len(fitted) / 4
    assert {layer.dtype for layer in fitted} == {"f32", "i8"}
    assert {layer.dtype for layer in shapes.draw(Target.of("aarch64", "cortex-a76"))[0]} == {
        *("f32", "f16", "i8")
    }


@pytest.mark.parametrize("target", [ZEN4, Target.of("aarch64", "cortex-a53")])
def test_layers_have_the_windows_and_the_work_of_networks(target: Target) -> None:
    drawn = [layer for part in shapes.draw(target) for layer in part]
    core = target.bandwidth_core.memory
    clock = (core.clock_ghz if core else 1.0) * 1e9
    most = max(target.core.pipes.f32_fmas_per_cycle * clock * 0.5e-3, 4e6)
    for layer in drawn:
        is_depthwise = layer.group > 1
        assert most / (2000 if is_depthwise else 200) <= layer.macs <= most, layer
        assert layer.elements <= 512 * 1024, layer
    kinds = {"f32": set(), "lower": set()}  # type: dict[str, set[tuple[int, int, bool]]]
    for layer in drawn:
        kind = (layer.kernel, layer.stride, layer.group > 1)
        kinds["f32" if layer.dtype == "f32" else "lower"].add(kind)
    assert kinds["lower"] == {(3, 1, False), (1, 1, False), (3, 1, True)}
    assert kinds["f32"] == kinds["lower"] | {
        *((3, 2, False), (5, 1, False), (7, 2, False), (3, 2, True), (5, 1, True)),
    }
    first = [layer for layer in drawn if layer.kernel == 7]
    assert {layer.c_in for layer in first} == {3}, "they read pictures"
    assert max(layer.c_out for layer in first) <= 64
    if target is ZEN4:  # small layers are among them
        assert min(layer.macs / most for layer in drawn if layer.group == 1) < 1 / 100


@pytest.mark.parametrize(
    ("core", "arch", "largest"),
    [("cortex-a53", "aarch64", 1 << 18), ("zen4", "x86_64", 1 << 24)],
)
def test_copies_reach_twice_the_last_level_and_at_most_64_megabytes(
    core: str, arch: str, largest: int
) -> None:
    """Bytes are four times the elements: 512 KB of a Cortex-A53, 32 MB of a Zen 4."""
    target = Target.of(arch, core)
    assert (target.core.l3 or target.core.l2).bytes == min(largest * 2, 32 << 20)
    sizes = shapes.copies(target)
    assert list(sizes) == [1 << bits for bits in range(11, largest.bit_length())]


def test_a_bed_copies_each_size_with_cold_and_warm_data() -> None:
    test_bed = bed.make(ZEN4, [], [2048, 4096])
    copied_sizes = {Copied(n, state) for n in (2048, 4096) for state in bed.STATES}
    assert set(test_bed.timed.values()) == copied_sizes
    ops = {op.name: op for op in test_bed.program.ops}
    for name, copied in test_bed.timed.items():
        assert isinstance(copied, Copied)
        assert ops[name].type == "relu"
        assert test_bed.program.vars[ops[name].inputs[0]].shape == (copied.elements,)


def test_a_bed_has_every_algorithm_and_kernel_of_a_layer_with_cold_and_warm_weights() -> None:
    target = Target.of("aarch64", "cortex-a76")
    combinations = {(way.algorithm, way.kernel, way.state) for way in ways([LAYER], target)}
    for name, selection in bed.variants(LAYER, target).items():
        names = {kernel.name for kernel in selection.main_kernels()}
        assert names
        assert {(name, kernel, state) for kernel in names for state in bed.STATES} <= combinations
    assert {"direct", "winograd_2", "winograd_4", "winograd_6"} <= {
        name for name, _, _ in combinations
    }


def test_a_planned_bed_has_the_ways_that_its_names_promise() -> None:
    test_bed = bed.make(ZEN4, [LAYER])
    for op in some(test_bed.planned(ZEN4).ops):
        way = test_bed.timed.get(op.name)
        if isinstance(way, Way):
            assert op.attributes["kernel"] == way.kernel
            algorithm = algorithms.algorithm_of(op)
            assert algorithm
            assert algorithm.name == way.algorithm


def test_a_fit_to_times_of_a_known_machine_predicts_its_other_layers() -> None:
    """The machine: Winograd's transforms take three times what the cost model says."""
    layers, others = shapes.draw(ZEN4, 0.3)

    def machine(way: Way) -> float:
        parts = pricing.parts(way, ZEN4)
        return (
            800 + 0.08 * parts.macs + 60 * parts.tiles + 0.2 * parts.transforms + 0.1 * parts.bytes
        )

    used = [TimedWay(way, 1, machine(way)) for way in ways(layers)]
    core = pricing.fit(used, ZEN4, replace(EMPTY, cache_bytes=0))
    target = replace(ZEN4, core=core)
    judged = [TimedWay(way, 1, machine(way)) for way in ways(others)]
    fits = {row.algorithm for row in core.fit.kernels if core.fit} if core.fit else set()
    for one in judged:
        if one.way.algorithm in fits:
            assert pricing.modeled(one.way, target) == pytest.approx(one.cycles, rel=0.05)
    assert regret.of(judged, target).mean <= 1.01
    assert regret.of(judged, target).mean <= regret.of(judged, ZEN4).mean


def test_regret_counts_what_the_default_accuracy_allows() -> None:
    by_algorithm = {way.algorithm: way for way in ways([LAYER]) if way.state == WARM}
    cycles = {"direct": 300.0, "winograd_2": 200.0, "winograd_6": 100.0}
    measured = [TimedWay(by_algorithm[name], 1, value) for name, value in cycles.items()]
    assert not pricing.is_exact_enough(by_algorithm["winograd_6"], ZEN4)
    (choice,) = regret.of(measured, ZEN4).choices
    assert (choice.chosen, choice.fastest, choice.regret) == ("winograd_2", "winograd_2", 1.0)


def fitted_core(**costs: float) -> Core:
    """A Zen 4 on which these algorithms take so many cycles for each call."""
    kernel = "gemm_f32_14x32_avx512"
    rows = [KernelFit(kernel, name, 1, 10, 0.02, call=value) for name, value in costs.items()]
    return replace(ZEN4.core, fit=replace(EMPTY, kernels=tuple(rows)))


def test_a_row_reads_as_the_core_that_was_written(config: Path) -> None:
    core = fitted_core(direct=10.5, winograd_4=3.25)
    (config / "zen4.toml").write_text(row.to_toml(core, "fitted\non a machine"))
    read = cores.find("zen4", "x86_64")
    assert read == core
    assert read.fit
    assert core.fit
    assert read.fit.kernels == core.fit.kernels
    assert (config / "zen4.toml").read_text().startswith("# fitted\n# on a machine\n")


@pytest.mark.parametrize("core", cores.builtin(), ids=lambda core: core.name)
def test_every_core_can_be_written_and_read(core: Core, config: Path) -> None:
    (config / f"{core.name}.toml").write_text(row.to_toml(core, core.doc))
    arch = next(iter(core.features))
    assert cores.find(core.name, arch) == core


@pytest.mark.parametrize("fastest", ["direct", "winograd_2", "winograd_6"])
def test_a_row_of_ones_own_changes_the_plan(config: Path, fastest: str) -> None:
    program = bed.make(ZEN4, [LAYER]).program
    names = [f"winograd_{tile}" for tile in range(2, 7)]
    costs = dict.fromkeys(("direct", *names), 1e6) | {fastest: 1.0}
    (config / "zen4.toml").write_text(row.to_toml(fitted_core(**costs), ""))
    planned = planner.decide(program, Target.of("x86_64", "zen4"), Plan(accuracy="fast"))
    chosen = {algorithm.name for op in planned.ops if (algorithm := algorithms.algorithm_of(op))}
    assert chosen == {fastest}


def test_a_fit_leaves_what_is_fused_to_the_model() -> None:
    program = passes.optimize(load_program("mobilenet_v2"))
    target = Target.of("aarch64", "cortex-a53")
    rows = (KernelFit("gemm_f32_4x16_neona53", "direct", 1, 10, 0.0, call=1.0),)
    fit = replace(EMPTY, scale=100.0, kernels=rows)
    plans = [
        planner.decide(program, replace(target, core=replace(target.core, fit=of)), Plan())
        for of in (None, fit)
    ]
    fused = [[op.name for op in plan.ops if op.type == "conv_separable"] for plan in plans]
    assert fused[0]
    assert fused[0] == fused[1]


def test_a_fit_replaces_a_choice_only_for_a_gain(config: Path) -> None:
    program = bed.make(ZEN4, [LAYER]).program
    (usual,) = {
        algorithm.name
        for op in planner.decide(program, ZEN4, Plan()).ops
        if (algorithm := algorithms.algorithm_of(op))
    }
    other = "winograd_2" if usual != "winograd_2" else "winograd_3"
    others = {f"winograd_{tile}": 2e6 for tile in range(2, 7)} | {"direct": 2e6}
    for share, expected in ((0.97, usual), (0.95, other)):
        core = fitted_core(**{**others, usual: 1e6, other: share * 1e6})
        planned = planner.decide(program, replace(ZEN4, core=core), Plan())
        chosen = {a.name for op in planned.ops if (a := algorithms.algorithm_of(op))}
        assert chosen == {expected}


def test_more_threads_than_were_measured_share_the_work() -> None:
    core = replace(fitted_core(), fit=replace(EMPTY, kernels=()))
    kernel = kernels.kernel("gemm_f32_14x32_avx512").name
    measured = KernelFit(kernel, "direct", 1, 10, 0.0, macs=0.05, call=500.0)
    core = replace(core, fit=replace(EMPTY, kernels=(measured,)))
    way = Way(LAYER, "direct", kernel, WARM)
    one, four = (
        pricing.modeled(way, replace(ZEN4, core=core, threads=threads)) for threads in (1, 4)
    )
    assert one == pytest.approx(0.05 * LAYER.macs + 500)
    assert four == pytest.approx(0.05 * LAYER.macs / 4 + 500 + EMPTY.hand_over)


def test_a_machine_that_no_row_knows_gets_one_of_its_own(config: Path) -> None:
    text = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 250\nmodel name\t: A new one\n"
    core = row.identified(cores.find(None, "x86_64"), text)
    assert core.doc == "A new one"
    (config / f"{core.name}.toml").write_text(row.to_toml(core, ""))
    assert cores.by_cpuid("GenuineIntel", 6, 250) == cores.find(core.name, "x86_64")
    assert row.identified(ZEN4.core, text) is ZEN4.core


def test_an_unknown_arm_core_has_its_number_in_hexadecimal() -> None:
    text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd1f\n"
    core = row.identified(cores.find(None, "aarch64"), text)
    assert core.midr == ((0x41, 0xD1F),)


def test_without_copies_there_are_no_facts_of_memory() -> None:
    facts = memory.facts([])
    assert (dict(facts.gb_per_s), facts.cache_bytes, facts.hand_over_ns) == ({}, 0, 0.0)


def test_copies_tell_bandwidth_cache_and_hand_over() -> None:
    """Memory of 8 GB/s, caches of 1 MB with 80 GB/s, and 4 us for each shared loop."""
    times = []
    for bits in range(11, 25):
        elements = 1 << bits
        size = 8 * elements
        alone = size / (80 if size <= 1 << 20 else 8)
        for threads in (1, 2):
            amount = alone / threads + (4000 if threads > 1 else 0)
            times.append(Time(Copied(elements, WARM), threads, amount))
            times.append(Time(Copied(elements, COLD), threads, 10 * amount))
    facts = memory.facts(times)
    assert facts.cache_bytes == 1 << 20
    assert facts.gb_per_s[1] == pytest.approx(8)
    assert facts.gb_per_s[2] == pytest.approx(16, rel=0.01)
    assert facts.hand_over_ns == pytest.approx(4000)


@pytest.mark.slow
@pytest.mark.build
def test_a_small_fit_on_this_machine_writes_a_row_that_plans_use(
    tmp_path: Path, config: Path
) -> None:
    fitted = fit(FitRequest("local", share=0.05, threads=1, results=tmp_path / "results"))
    assert fitted.unit == "ns"
    assert fitted.core.fit
    assert fitted.core.fit.kernels
    assert all(math.isfinite(row.error) for row in fitted.core.fit.kernels)
    assert fitted.regret.mean >= 1
    path = config / f"{fitted.core.name}.toml"
    path.write_text(row.to_toml(fitted.core, fitted.title))
    assert Target.host().core == fitted.core
    content = json.loads(report.as_json(fitted, path))
    assert content["is_time"]
    assert content["regret"]["the fit"]["mean"] == pytest.approx(fitted.regret.mean)
    assert str(path) in report.text(fitted, path)
