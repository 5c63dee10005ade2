"""Keys of layers and of the code that computes them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.tuning.networks import by_rule, convolutions
from trimtab import paths, schema
from trimtab.tuning import layers
from trimtab.tuning.layers import Layers, code_of


def key(*shapes: tuple[int, int, int], at: int, size: int = 28) -> str:
    return Layers(by_rule(convolutions(*shapes, size=size))).layer({f"x{at + 1}"}).digest


def test_the_same_layer_of_another_network_has_the_same_key() -> None:
    one = key((64, 64, 3), (64, 32, 1), (32, 64, 3), at=1)
    assert one == key((16, 64, 1), (64, 32, 1), (32, 48, 3), (48, 16, 1), at=1)


@pytest.mark.parametrize(
    "shapes", [((64, 64, 3), (64, 48, 1), (48, 64, 3)), ((64, 64, 3), (64, 32, 3), (32, 64, 3))]
)
def test_another_shape_is_another_layer(shapes: tuple[tuple[int, int, int], ...]) -> None:
    assert key((64, 64, 3), (64, 32, 1), (32, 64, 3), at=1) != key(*shapes, at=1)


def test_another_neighbor_is_another_layer() -> None:
    assert key((64, 64, 3), (64, 32, 1), (32, 64, 3), at=1) != key((64, 64, 3), (64, 32, 1), at=1)


def test_the_words_name_window_and_shapes() -> None:
    plan = by_rule(convolutions((64, 64, 3), (64, 64, -3)))
    words = [Layers(plan).layer({name}).text for name in ("x1", "x2")]
    assert words == [
        "conv 3x3 1x64x28x28 -> 1x64x28x28",
        "conv dw 3x3 1x64x28x28 -> 1x64x28x28",
    ]


def test_a_decision_has_another_key_when_a_source_of_its_kernel_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = by_rule(convolutions((64, 64, 3)))
    before = code_of(plan.planned, {"x1"})
    assert before == code_of(plan.planned, {"x1"})
    assert "winograd_6, gemm_f32_6x16_avx2" in before.text
    real = layers.source_digest
    monkeypatch.setattr(
        layers, "source_digest", lambda name: "new" if name.startswith("gemm") else real(name)
    )
    assert code_of(plan.planned, {"x1"}).digest != before.digest


def test_a_decision_has_another_key_with_another_compiler() -> None:
    planned = by_rule(convolutions((64, 64, 3))).planned
    compilers = ("", "g++ 12", "g++ 13")
    assert len({code_of(planned, {"x1"}, one).digest for one in compilers}) == len(compilers)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("gelu", "runtime/ops/gelu.toml"),  # its C++ is generated
        ("conv", "runtime/ops/conv.cpp"),
        ("conv", "runtime/core/operator.h"),  # included
        ("gemm_f32_6x16_avx2", "kernels/generic/gemm.h"),
        ("gemm_f32_6x16_avx2", "kernels/x86/vec_avx2.h"),
        ("gemm_f32_4x16_neon", "kernels/kernel_api.h"),
    ],
)
def test_every_source_is_in_the_key(name: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source_digest = layers.source_digest.__wrapped__
    before, original = source_digest(name), Path.read_text
    assert source_digest(name) == before

    def changed(path: Path, **options: str) -> str:
        return original(path, **options) + ("// changed" if path == paths.root() / file else "")

    monkeypatch.setattr(Path, "read_text", changed)
    assert source_digest(name) != before


def test_the_operator_of_a_plug_in_has_the_key_of_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    for place, text in (("a", "one"), ("b", "one"), ("b", "two")):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "mine.cpp").write_text(text)
        operator = dataclasses.replace(schema.operator("conv"), path=tmp_path / place / "mine.toml")
        monkeypatch.setattr(schema, "operator", lambda _, own=operator: own)
        digests.append(layers.source_digest.__wrapped__("mine"))
    assert digests[0] == digests[1] != digests[2]
