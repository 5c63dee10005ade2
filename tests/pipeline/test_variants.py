"""Variants of a plan, and ncnn's size beside them."""

from __future__ import annotations

import pytest

import trimtab
from trimtab import passes
from trimtab.pipeline.resolve import load_program, model_path
from trimtab.pipeline.variants import Variants, ncnn_bytes
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

A53 = Target.of("aarch64", "cortex-a53")
# Sizes of the .ncnn.bin files that pnnx 20261020 writes by default for networks of the zoo.
NCNN_BYTES = {"squeezenet": 2_478_984, "mobilenet_v3_small": 5_095_752, "yolo_fastest": 666_952}


@pytest.fixture(name="network", scope="module")
def squeezenet() -> Program:
    return passes.optimize(load_program("squeezenet"))


@pytest.mark.parametrize("network", NCNN_BYTES)
def test_the_size_of_an_ncnn_file_is_derived_to_a_thousandth(network: str) -> None:
    optimized = passes.optimize(trimtab.load(model_path(network)))
    assert ncnn_bytes(optimized) == pytest.approx(NCNN_BYTES[network], rel=1e-3)


def test_selections_are_shared_among_preferences(
    network: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = []
    decide = planner.decide

    def counted(program: Program, target: Target, overridden: Plan) -> Program:
        requested.append((target, overridden.algorithms))
        return decide(program, target, overridden)

    monkeypatch.setattr(planner, "decide", counted)
    variants = Variants(network, A53, Plan()).planned()
    assert [variant.footprint.what for variant in variants] == [
        f"trimtab, prefer {name}" for name in ("load", "balanced", "size")
    ]
    assert len(set(requested)) == len(requested), "each combination is decided once"


def test_the_footprint_of_a_variant_is_its_file_and_the_memory_of_an_engine(
    network: Program,
) -> None:
    load, balanced, size = Variants(network, A53, Plan()).planned()
    for variant in (load, balanced, size):
        assert variant.footprint.binary_bytes is None
        assert variant.footprint.memory_bytes
        assert variant.footprint.load_ns
        assert variant.program.planned, "measuring it leaves the program usable"
    assert load.footprint.model_bytes > balanced.footprint.model_bytes
    assert size.footprint.model_bytes <= balanced.footprint.model_bytes


def test_the_others_are_the_footprints_of_the_other_preferences(network: Program) -> None:
    variants = Variants(network, A53, Plan(prefer="size"))
    everyone = {variant.footprint.what: variant.footprint for variant in variants.planned()}
    own = everyone.pop("trimtab, prefer size")
    others = {other.what: other for other in variants.others()}
    half = others.pop("trimtab, weights f16")
    assert 0.5 * own.model_bytes < half.model_bytes < 0.52 * own.model_bytes
    quarter = others.pop("trimtab, weights int8")
    assert 0.25 * own.model_bytes < quarter.model_bytes < 0.27 * own.model_bytes
    eighth = others.pop("trimtab, weights bits4")
    assert 0.125 * own.model_bytes < eighth.model_bytes < 0.14 * own.model_bytes
    assert others == everyone


def test_constants_that_are_dropped_after_loading_take_no_memory(network: Program) -> None:
    load, balanced, _ = Variants(network, A53, Plan()).planned()
    for variant, is_prepared in ((load, False), (balanced, True)):
        session = trimtab.Session(variant.program)
        memory = session.memory["arena_bytes"] + session.memory["prepared_bytes"]
        model_bytes = variant.footprint.model_bytes
        assert variant.footprint.memory_bytes is not None
        mapped = variant.footprint.memory_bytes - memory
        assert mapped == model_bytes if not is_prepared else 0 < mapped < model_bytes
