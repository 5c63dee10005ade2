"""Binaries with fast code for the depthwise windows of their models only."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.small_programs import normal
from trimtab.build.builder import BuildRequest, build
from trimtab.build.profile_headers import windows_header
from trimtab.errors import ProfileError
from trimtab.profile import Profile, read_profile
from trimtab.program import Program

WINDOWS = [(3, 1), (5, 1), (7, 1), (3, 2), (5, 2), (1, 2)]  # and strides, one behind the other


def depthwise(folder: Path, channels: int) -> tuple[Path, Program]:
    """A chain of depthwise convolutions: its file, and the planned program, saved beside it."""
    nodes, weights = [], []
    for i, (size, stride) in enumerate(WINDOWS):
        value = normal(channels, 1, size, size) / np.float32(size)
        weights.append(numpy_helper.from_array(value, f"w{i}"))
        pads = [size // 2] * 4
        node = helper.make_node(
            *("Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"]),
            strides=[stride] * 2, pads=pads, group=channels,
        )  # fmt: skip
        nodes.append(node)
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, channels, 29, 31])
    y = helper.make_tensor_value_info(f"x{len(WINDOWS)}", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "depthwise", [x], [y], weights)
    opset = [helper.make_opsetid("", 17)]
    path = folder / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    program = trimtab.optimize(trimtab.load(path))
    program.save(path.with_suffix(".ttm"))
    return path, program


@pytest.mark.build
@pytest.mark.parametrize(("channels", "few"), [(40, ""), (12, "few ")])
def test_a_binary_without_fast_code_for_a_window_computes_it(
    tmp_path: Path, channels: int, few: str
) -> None:
    path, program = depthwise(tmp_path, channels)
    profile = trimtab.profile_of(program)
    assert {*profile.windows} == {f"{few}{size}x{size}/{stride}" for size, stride in WINDOWS}
    sizes: list[int] = []
    x = normal(1, channels, 29, 31)
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    (expected,) = onnxruntime.InferenceSession(path).run(None, {"x0": x})
    for windows in (profile.windows, (f"{few}3x3/1",), ("4x4/4",)):
        part = replace(profile, windows=windows)
        folder = tmp_path / str(len(sizes))
        request = BuildRequest(profile=part, output_dir=folder, toolchain="host")
        runner = build(request).runner
        sizes.append(runner.stat().st_size)
        command = [str(runner), str(path.with_suffix(".ttm")), "--input", str(tmp_path / "x.bin")]
        command += ["--runs", "1", "--min-time-ms", "0", "--output-dir", str(tmp_path)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        actual = np.frombuffer((tmp_path / "out0.bin").read_bytes(), np.float32)
        assert np.allclose(actual.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)
    assert sizes == sorted(sizes, reverse=True)


def test_a_profile_without_windows_has_all() -> None:
    some = Profile("some", windows=("3x3/1", "few 5x5/2"))
    assert some.union(Profile("other", windows=("3x3/2",))).windows == (
        *("3x3/1", "3x3/2", "few 5x5/2"),
    )
    assert some.union(Profile("all")).windows == ()
    assert some.digest() != Profile("some").digest()
    text = windows_header(Profile("all"))
    assert "constexpr bool HasWindow(int, int, int) {\n  return true;" in text
    assert "constexpr bool HasNarrowWindow(int, int, int) {\n  return true;" in text


def test_few_channels_and_the_widest_window_are_told() -> None:
    text = windows_header(Profile("some", windows=("3x11/1", "5x5/2")))
    assert "kWidestWindow = 11;" in text
    assert "(height == 0 || height == 3) && width == 11 && stride == 1" in text
    assert "HasNarrowWindow(int, int, int) {\n  return false;" in text
    text = windows_header(Profile("some", windows=("3x3/1", "few 5x5/2")))
    first, second = text.split("HasNarrowWindow")
    assert "width == 5 && stride == 2" in first
    assert "width == 5 && stride == 2" in second
    assert "width == 3" not in second


@pytest.mark.parametrize("text", ["3x3", "0x3/1", "3x3/0", "many 3x3/1", "3x3/1 "])
def test_what_is_no_window_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "net.toml"
    path.write_text(Profile("net", ops=("relu",), windows=(text,)).to_toml())
    with pytest.raises(ProfileError, match="is not a depthwise window"):
        read_profile(path)
