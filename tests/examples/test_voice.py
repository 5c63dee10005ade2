"""examples/voice with a network of Silero VAD's interface, against onnxruntime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.examples.test_face_detector import run
from trimtab import paths
from trimtab.pipeline.built import build
from trimtab.pipeline.input_shapes import parse
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe

INPUTS = ("input=1,576", "state=2,1,8@stateN", "sr=16000")
NETWORK = """<ir_version: 9, opset_import: ["" : 17]> net (float[b, n] input, float[2, b, 8] state,
    int64 sr) => (float[b, 1] output, float[2, b, 8] stateN) {
    rate = Cast <to = 1> (sr) kilo = Constant <value = float {16000.0}> () one = Div (rate, kilo)
    x = MatMul (input, w) scaled = Mul (x, one) sum = Add (scaled, state)
    stateN = Tanh (sum) last = ReduceMean <axes = [0, 2], keepdims = 0> (stateN)
    shape = Constant <value = int64[2] {-1, 1}> () flat = Reshape (last, shape)
    output = Sigmoid (flat) }"""


@pytest.mark.build
def test_the_program_keeps_the_state_of_a_stream(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    model = onnx.parser.parse_model(NETWORK)
    weights = rng.normal(0, 1, (576, 8)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, tmp_path / "net.onnx")
    dist = tmp_path / "dist"
    recipe = Recipe(str(tmp_path / "net.onnx"), shapes=parse(INPUTS), output=dist)
    build(plan(load(recipe)))
    source = paths.root() / "examples" / "voice" / "voice.c"
    compiler = sys.executable, "-m", "ziglang", "cc", "-std=c99", "-Wall", "-Wextra", "-Werror"
    links = dist / "libtrimtab.a", "-lm", "-pthread", "-o", tmp_path / "voice"
    run(*compiler, f"-I{dist}", source, *links, cwd=tmp_path)
    sound = rng.integers(-20000, 20000, 4 * 512 + 100).astype(np.int16)
    done = subprocess.run(
        [tmp_path / "voice", dist / "net.ttm"],
        input=sound.tobytes(),
        capture_output=True,
        check=True,
    )
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    state, padded = np.zeros((2, 1, 8), np.float32), np.insert(sound / 32768, [0] * 64, 0)
    expected = []
    for begin in range(0, 4 * 512, 512):
        x = padded[None, begin : begin + 576].astype(np.float32)
        output, state = session.run(None, {"input": x, "state": state, "sr": np.array(16000)})
        expected.append(output.item())
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose([*map(float, done.stdout.split())], expected, atol=1e-4)
