"""Every rule of an importer that makes an array from a size, and every layer that expands into
others, spends the one budget of the import before it does so.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.importers import ncnn_writer
from tests.importers.onnx_text import model_of
from tests.importers.paddle_writer import Net
from tests.importers.tflite_writer import Model
from trimtab import importers
from trimtab.errors import ImportModelError
from trimtab.importers import _budget

BUDGET = 2**20
N = 2**10  # a matrix of N x N float32 is four times the budget


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


ONES = np.ones(1, np.float32)

# Small networks whose rules make at least 3 MB, of constants or of sizes.
RULES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "stft": (
        f"net (float[1, {N}, 1] x) => (y) {{ y = STFT (x, step, , length) }}",
        {"step": np.array(N), "length": np.array(N)},
    ),
    "dft": (f"net (float[1, {N}, 1] x) => (y) {{ y = DFT <axis = 1> (x) }}", {}),
    "hardmax": (f"net (float[1, {N}] x) => (y) {{ y = Hardmax (x) }}", {}),
    "trilu": ("net (float[2000, 2000] x) => (y) { y = Trilu (x) }", {}),
    "eye_like": (f"net (float[{N}, {N}] x) => (y) {{ e = EyeLike (x) y = Add (x, e) }}", {}),
    "mask": (f"net (float[{N}, 4096] x) => (y, m) {{ y, m = Dropout (x) }}", {}),
    "one_hot": (
        "net (int64[1] x) => (y) { y = OneHot (x, depth, values) }",
        {"depth": np.array(N * N), "values": np.array([0, 1], np.float32)},
    ),
    "reverse_sequence": (
        f"net (float[{N * N}, 2] x) => (y) {{ y = ReverseSequence (x, n) }}",
        {"n": ints(1, 2)},
    ),
    "max_unpool": (
        f"net (float[1, 1, 1, 1] x, int64[1, 1, 1, 1] i) => (y) {{"
        f" y = MaxUnpool <kernel_shape = [{N}, {N}], strides = [{N}, {N}]> (x, i) }}",
        {},
    ),
    "pool_of_constants": (
        "net (float[1] x) => (y) { c = ConstantOfShape (s) "
        f"p = MaxPool <kernel_shape = [{N}, {N}], pads = [{N - 1}, {N - 1}, {N - 1}, {N - 1}],"
        f" strides = [{N}, {N}]> (c) y = Add (x, p) }}",
        {"s": ints(1, 1, 2, 2)},
    ),
    "transposed_convolution_of_constants": (
        "net (float[1] x) => (y) { c = ConstantOfShape (s) "
        f"p = ConvTranspose <strides = [{N}, {N}], pads = [{N}, {N}, {N}, {N}]> (c, w)"
        " y = Add (x, p) }",
        {"s": ints(1, 1, 3, 3), "w": np.ones((1, 1, 2, 2), np.float32)},
    ),
    "places_of_constants": (
        "net (float[1] x) => (y) { c = ConstantOfShape (s) i = NonZero (c) m = ReduceMax (i)"
        " f = Cast <to = 1> (m) y = Add (x, f) }",
        {"s": ints(*[2] * 7, 2**9)},
    ),
    "resize": (
        f"net (float[1, 1, 4, {N}] x) => (y) {{"
        ' y = Resize <mode = "cubic", exclude_outside = 1> (x, , , sizes) }',
        {"sizes": ints(1, 1, 4, N + 3)},
    ),
    "mel": (
        "net (float[1, 4] x) => (y) { m = MelWeightMatrix (a, a, rate, low, high)"
        " y = MatMul (x, m) }",
        {
            "a": np.array(2 * N),
            "rate": np.array(16000),
            "low": np.array(20, np.float32),
            "high": np.array(8000, np.float32),
        },
    ),
    "window": (
        "net (float[1] x) => (y) { w = HannWindow (n) y = Add (x, w) }",
        {"n": np.array(N * N)},
    ),
    "pad": (
        "net (float[1, 1] x) => (y) { c = ConstantOfShape (s) p = Pad (c, pads) y = Add (x, p) }",
        {"s": ints(1, 1), "pads": ints(0, 0, N, N)},
    ),
    "outer_product": (
        "net (float[1] x) => (y) { c = ConstantOfShape (s) d = ConstantOfShape (t)"
        " p = MatMul (c, d) y = Add (x, p) }",
        {"s": ints(N, 1), "t": ints(1, N)},
    ),
    "layer_normalization": (
        f"net (float[{N}, {N}] x) => (y) {{ y = LayerNormalization <axis = 0> (x, s) }}",
        {"s": ONES},
    ),
    "group_normalization": (
        f"net (float[1, {N * N}] x) => (y) {{ y = GroupNormalization <num_groups = 1> (x, s, s) }}",
        {"s": ONES},
    ),
    "column_to_image": (
        f"net (float[1, 1, {N * N}] x) => (y) {{ y = Col2Im (x, image, block) }}",
        {"image": ints(N * N), "block": ints(1)},
    ),
    "regions": (
        "net (float[1, 1, 4, 4] x, float[1, 4] r, int64[1] b) => (y) {"
        ' y = RoiAlign <mode = "max", sampling_ratio = 1024, output_height = 1024> (x, r, b) }',
        {},
    ),
    "state": (
        f"net (float[1, {N * N}, 1] x) => (y) {{ y = RNN <hidden_size = 1> (x, w, w) }}",
        {"w": np.ones((1, 1, 1), np.float32)},
    ),
    "deformation": (
        f"net (float[1, 1, {N}, {N}] x, float[1, 2, {N}, {N}] o) => (y) {{"
        " y = DeformConv (x, w, o) }",
        {"w": np.ones((1, 1, 1, 1), np.float32)},
    ),
}


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_budget, "LEAST_BYTES", BUDGET)


def assert_refused(path: Path, peak_bytes: int = 3 * BUDGET) -> None:
    """The network is refused without the memory that it asks for."""
    tracemalloc.start()
    try:
        with pytest.raises(ImportModelError, match="far more than the weights"):
            importers.load(path, cache=False)
        assert tracemalloc.get_traced_memory()[1] < peak_bytes
    finally:
        tracemalloc.stop()


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_onnx_spends_the_budget_before_it_makes_an_array(
    rule: str, tmp_path: Path, small_budget: None
) -> None:
    text, constants = RULES[rule]
    path = saved(model_of(text, constants), tmp_path)
    assert path.stat().st_size < 400
    # Modules that fold constants are imported before memory counts.
    warm = "net (float[1] x) => (y) { c = Neg (n) y = Add (x, c) }"
    importers.load(saved(model_of(warm, {"n": ONES}), tmp_path))
    assert_refused(saved(model_of(text, constants), tmp_path))


def test_many_arrays_that_fit_one_by_one_are_refused_together(
    tmp_path: Path, small_budget: None
) -> None:
    size = 400  # a quarter of the budget, in each of two arrays
    nodes = "".join(f"x{i + 1} = Trilu (x{i})" for i in range(20))
    text = f"net (float[{size}, {size}] x0) => (x20) {{ {nodes} }}"
    assert_refused(saved(model_of(text, {}), tmp_path))


def test_constants_that_double_are_refused_in_tflite(tmp_path: Path, small_budget: None) -> None:
    model = Model()
    x = model.input(np.ones((1, 4), np.float32))
    (c,) = model.add(
        "FILL",
        [model.constant(np.array([1, 4], np.int32)), model.constant(np.float32(1))],
        [(1, 4)],
    )
    for i in range(20):
        shape = (2 ** (i + 1), 4)
        (c,) = model.add("CONCATENATION", [c, c], [shape], "ConcatenationOptions", Axis=0)
    model.outputs = model.add("ADD", [x, c], [(2**20, 4)], "AddOptions")
    path = model.write(tmp_path)
    assert_refused(path)


def test_a_constant_of_a_size_is_refused_in_tflite(tmp_path: Path, small_budget: None) -> None:
    model = Model()
    x = model.input(np.ones((1, 4), np.float32))
    shape = model.constant(np.array([2**19, 4], np.int32))
    filled = model.add("FILL", [shape, model.constant(np.float32(1))], [(2**19, 4)])
    model.outputs = model.add("ADD", [x, *filled], [(2**19, 4)], "AddOptions")
    path = model.write(tmp_path)
    assert_refused(path)


def test_a_constant_of_a_size_is_refused_in_paddle(tmp_path: Path, small_budget: None) -> None:
    net = Net({"x": np.ones((1, 4), np.float32)}, fetches=["y"])
    net.add("fill_constant", {}, {"Out": "c"}, shape=[N, N], value=1.0, dtype=5)
    net.add("elementwise_add", {"X": "x", "Y": "c"}, {"Out": "y"}, axis=-1)
    assert_refused(net.write(tmp_path))


def test_a_border_of_a_size_is_refused_in_ncnn(tmp_path: Path, small_budget: None) -> None:
    values = np.ones(4, np.float32)
    pad = {0: N, 1: N, 2: N, 3: N, 4: 0, 6: 4}
    lines = [*ncnn_writer.head({"x": (4, 4, 4)}), ncnn_writer.line("Padding", "x", "y", pad)]
    assert_refused(ncnn_writer.write(tmp_path, lines, [values]))


NESTED = """
net (float[4] x) => (y) {{
  n = Constant <value = int64 {{{count}}}> () go = Constant <value = bool {{1}}> ()
  y = Loop <body = outer (int64 i, bool before, float[4] a) => (bool after, float[4] b) {{
    after = Identity (before)
    b = Loop <body = inner (int64 j, bool was, float[4] c) => (bool on, float[4] d) {{
      on = Identity (was) d = Relu (c)
    }}> (n, go, a)
  }}> (n, go, x)
}}
"""


def test_nested_loops_spend_one_budget_of_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(model_of(NESTED.format(count=300), {}), tmp_path)
    assert path.stat().st_size < 500
    monkeypatch.setattr(_budget, "MAX_EXPANDED", 1000)  # 90,000 nodes are asked for
    with pytest.raises(ImportModelError, match=r"more than 1,000 layers|it would expand to"):
        importers.load(path, cache=False)
    few = saved(model_of(NESTED.format(count=9), {}), tmp_path)
    assert len(importers.load(few, cache=False).ops) == 81


def test_loops_one_after_the_other_spend_one_budget_of_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = (
        "x{end} = Loop <body = body (int64 i, bool before, float[4] a) => (bool after, float[4] b)"
        " {{ after = Identity (before) b = Relu (a) }}> (n, go, x{begin})"
    )
    loops = " ".join(loop.format(begin=i, end=i + 1) for i in range(5))
    text = (
        "net (float[4] x0) => (x5) { n = Constant <value = int64 {60}> ()"
        f" go = Constant <value = bool {{1}}> () {loops} }}"
    )
    path = saved(model_of(text, {}), tmp_path)
    assert len(importers.load(path, cache=False).ops) == 300
    monkeypatch.setattr(_budget, "MAX_EXPANDED", 500)  # four loops of 120 nodes fit
    with pytest.raises(ImportModelError, match="it would expand to 60 times 2 nodes"):
        importers.load(path, cache=False)
