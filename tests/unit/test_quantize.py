"""Quantizing: samples, ranges, and what is written into a program."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ops.cases.case import Array
from trimtab.errors import CalibrationError, UsageError
from trimtab.program import Program
from trimtab.quantization import samples
from trimtab.quantization.insert_qdq import mean_error, quantization, weight_scales
from trimtab.quantization.methods import method, methods
from trimtab.quantization.observer import BINS, Observer, Range
from trimtab.quantization.ranges import Ranges
from trimtab.session import Session

HEAD = 'network="n"\nmethod="m"\nsamples=1\n'
INPUTS = {"data": ((1, 3, 4, 6), "float32")}


def seen(*values: Array) -> Observer:
    """What was seen of these samples, after both looks."""
    found = Observer()
    for value in values:
        found.add_extremes(value)
    for value in values:
        found.add_counts(value)
    return found


# Samples.


def test_arrays_are_samples_along_their_first_axis(tmp_path: Path) -> None:
    data = np.arange(7 * 3 * 4 * 6, dtype=np.float64).reshape(7, 3, 4, 6)
    np.savez(tmp_path / "s.npz", data=data)
    found = samples.read(tmp_path / "s.npz", INPUTS)
    assert found.count == 7
    for i, feed in enumerate(found):
        assert feed["data"].shape == (1, 3, 4, 6)
        assert feed["data"].dtype == np.float32
        np.testing.assert_array_equal(feed["data"][0], data[i])
    whole = samples.of_arrays({"data": data[:, np.newaxis]}, INPUTS)
    np.testing.assert_array_equal(whole.feed(6)["data"], found.feed(6)["data"])


@pytest.mark.parametrize(("count", "held_out"), [(4, [0, 1, 2, 3]), (5, [4]), (11, [4, 9])])
def test_each_fifth_sample_is_held_out(count: int, held_out: list[int]) -> None:
    data = np.arange(count, dtype=np.float32).reshape(-1, 1)
    found = samples.of_arrays({"x": data}, {"x": ((1, 1), "float32")})
    numbers = [int(feed["x"][0, 0]) for feed in found.held_out]
    rest = [int(feed["x"][0, 0]) for feed in found.calibrating]
    assert numbers == held_out
    assert rest == [i for i in range(count) if i % 5 != 4]


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({}, "the inputs of the network are data"),
        ({"data": np.zeros((2, 3, 4, 5))}, r"has the shape \[2, 3, 4, 5\]"),
        ({"data": np.zeros((0, 3, 4, 6))}, "must be equal and not 0"),
        ({"data": np.full((1, 3, 4, 6), np.nan)}, "not finite numbers"),
        ({"data": np.full((1, 3, 4, 6), "a")}, "not finite numbers"),
        ({"image": np.zeros((2, 3, 4, 6))}, "the inputs of the network are data"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    arrays: Mapping[str, Any], text: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(CalibrationError, match=text) as caught:
        samples.read(tmp_path / "s.npz", INPUTS)
    assert caught.value.where == str(tmp_path / "s.npz")


@given(st.binary(max_size=64))
def test_files_that_are_none_are_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.npz"
        path.write_bytes(content)
        with pytest.raises(CalibrationError):
            samples.read(path, INPUTS)


def test_pictures_are_what_opencv_reads(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    pixels = np.random.default_rng(1).integers(0, 256, (4, 6, 3), np.uint8)  # b, g, r
    cv2.imwrite(str(tmp_path / "a.png"), pixels)
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / samples.SETTINGS).write_text('mean = [10, 20, 30]\nscale = 0.5\nchannels = "bgr"\n')
    found = samples.read(tmp_path, INPUTS)
    assert found.count == 1
    wanted = (pixels.astype(np.float32) - [10, 20, 30]) * 0.5
    np.testing.assert_allclose(found.feed(0)["data"][0], wanted.transpose(2, 0, 1), rtol=1e-6)
    (tmp_path / samples.SETTINGS).unlink()
    rgb = samples.read(tmp_path, INPUTS).feed(0)["data"][0]
    np.testing.assert_allclose(rgb, pixels[:, :, ::-1].transpose(2, 0, 1) / 255, rtol=1e-5)
    gray = samples.read(tmp_path, {"x": ((1, 1, 4, 6), "float32")}).feed(0)["x"]
    known = cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_GRAYSCALE) / 255
    np.testing.assert_allclose(gray[0, 0], known, atol=1.01 / 255)


@pytest.mark.parametrize("resize", ["stretch", "crop", "letterbox"])
def test_pictures_are_resized(resize: str, tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    halves = np.zeros((40, 20, 3), np.uint8)
    halves[20:] = 200
    cv2.imwrite(str(tmp_path / "a.png"), halves)
    (tmp_path / samples.SETTINGS).write_text(f'scale = 1\nresize = "{resize}"\n')
    picture = samples.read(tmp_path, {"x": ((1, 3, 20, 20), "float32")}).feed(0)["x"][0, 0]
    assert picture[2, 10] == 0
    assert picture[17, 10] == 200
    assert (picture[:, 0] == 114).all() == (resize == "letterbox")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ("mean = 'a'", "mean is 'a'"),
        ("scale = [1, 2]", r"scale is \[1, 2\]"),
        ("channels = 'hsv'", "one of rgb, bgr"),
        ("resize = 3", "one of stretch, crop, letterbox"),
        ("sigma = 3", "unknown keys: sigma"),
        ("= =", "cannot be read"),
    ],
)
def test_settings_that_are_wrong_are_refused(settings: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / samples.SETTINGS).write_text(settings)
    with pytest.raises(CalibrationError, match=text):
        samples.read(tmp_path, INPUTS)


def test_what_is_no_picture_and_no_folder_of_any_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="has no pictures"):
        samples.read(tmp_path, INPUTS)
    (tmp_path / "a.jpg").write_bytes(b"JFIF, or so")
    with pytest.raises(CalibrationError, match="is not a picture"):
        samples.read(tmp_path, INPUTS).feed(0)
    with pytest.raises(CalibrationError, match="no such file"):
        samples.read(tmp_path / "absent", INPUTS)
    with pytest.raises(CalibrationError, match="do not fit"):
        samples.read(tmp_path, {"x": ((1, 10), "float32")})


# Ranges.


def test_a_histogram_has_an_end_at_zero_and_holds_every_value() -> None:
    values = np.random.default_rng(2).normal(1, 2, 5000).astype(np.float32)
    found = seen(values[:2000], values[2000:])
    edges = found.edges
    assert len(edges) == BINS + 1
    assert 0.0 in edges
    assert edges[0] <= values.min()
    assert edges[-1] >= values.max()
    assert found.histogram[0].sum() == values.size
    wanted, _ = np.histogram(values, edges)
    assert abs(found.histogram[0] - wanted).sum() <= 4  # float32 rounds a few across an end


@pytest.mark.parametrize("name", methods())
@pytest.mark.parametrize(
    "values",
    [
        np.zeros(10, np.float32),
        np.full(10, 3.0, np.float32),
        np.full(10, -3.0, np.float32),
        np.linspace(-1, 2, 999, dtype=np.float32),
        np.array([1e30, 0, -1e30], np.float32),
        np.array([np.inf, 1, np.nan], np.float32),
    ],
)
def test_every_method_gives_a_range_that_holds_zero_and_no_more_than_was_seen(
    name: str, values: Array
) -> None:
    found = method(name).range_of(seen(values))
    finite = values[np.isfinite(values)]
    assert min(0.0, finite.min()) - 1e-6 * abs(finite.min()) <= found.low <= 0
    assert 0 <= found.high <= max(0.0, finite.max()) + 1e-6 * abs(finite.max())


def test_min_max_is_the_range_of_all_samples() -> None:
    both = seen(np.array([-1.0, 2.0]), np.array([-3.0, 1.0]))
    assert method("min_max").range_of(both) == Range(-3.0, 2.0)


def test_percentile_is_that_of_numpy() -> None:
    values = np.random.default_rng(3).standard_t(3, 400_000)
    found = method("percentile").range_of(seen(values))
    width = (values.max() - values.min()) / BINS
    assert found.low == pytest.approx(np.quantile(values, 0.5e-5), abs=2 * width)
    assert found.high == pytest.approx(np.quantile(values, 1 - 0.5e-5), abs=2 * width)


def test_mse_has_a_smaller_error_than_any_share_of_the_range() -> None:
    values = np.random.default_rng(4).standard_t(4, 100_000)

    def error(least: float, most: float) -> float:
        q = quantization(Range(least, most))
        stored = np.clip(np.rint(values / q.scale[0]) + q.zero_point[0], -128, 127)
        return float(((values - (stored - q.zero_point[0]) * q.scale[0]) ** 2).mean())

    found = method("mse").range_of(seen(values))
    whole = seen(values).whole
    best = min(error(whole.low * s, whole.high * s) for s in np.linspace(0.3, 1, 30))
    assert error(found.low, found.high) <= 1.02 * best
    assert error(found.low, found.high) < error(whole.low, whole.high)


def test_mse_of_a_function_s_operand_is_that_of_its_results() -> None:
    def swish(x: Array) -> Array:
        return np.asarray(x / (1 + np.exp(-x)))

    values = np.random.default_rng(9).normal(-4, 4, 100_000)

    def error(found: Range) -> float:
        q = quantization(found)
        stored = np.clip(np.rint(values / q.scale[0]) + q.zero_point[0], -128, 127)
        real = (stored - q.zero_point[0]) * q.scale[0]
        return float(((swish(values) - swish(real)) ** 2).mean())

    aware = Observer(function=swish)
    aware.add_extremes(values)
    aware.add_counts(values)
    found, plain = method("mse").range_of(aware), method("mse").range_of(seen(values))
    best = min(
        error(Range(least, most))
        for least in np.linspace(-20, -1, 20)
        for most in np.linspace(4, 14, 21)
    )
    assert error(found) <= 1.05 * best
    assert error(found) < 0.6 * error(plain)


def test_an_unknown_method_is_an_error_that_lists_them() -> None:
    with pytest.raises(UsageError) as caught:
        method("guess")
    assert all(name in caught.value.hint for name in methods())


@pytest.mark.parametrize(
    ("former", "successor"),
    [("reach", "activation_aware"), ("moving_average", "min_max"), ("entropy", "mse")],
)
def test_a_former_method_is_an_error_that_names_the_nearest_one(
    former: str, successor: str
) -> None:
    with pytest.raises(UsageError) as caught:
        method(former)
    assert caught.value.hint == f"use {successor}"
    assert successor in methods()


def test_ranges_are_written_and_read(tmp_path: Path) -> None:
    found = {"a/b.c": Range(-1.5, 0.1 + 0.2), 'quoted "x"': Range(0, 1e-30)}
    kept = Ranges("net", "mse", 9, found, {"a/b.c": (0.1, -1e-9)})
    kept.write(tmp_path / "ranges.toml")
    assert Ranges.read(tmp_path / "ranges.toml") == kept


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "network = 3",
        HEAD + "ranges=3\n[means]\n[factors]",
        HEAD + "[means]\n[factors]\n[ranges]\na=[1]",
        HEAD + "[means]\n[factors]\n[ranges]\na=[2,1]",
        HEAD + "[means]\n[factors]\n[ranges]\na=[nan,1]",
        HEAD + "[ranges]\na=[0,1]\n[factors]\n[means]\na=3",
        HEAD + "[ranges]\na=[0,1]\n[means]\n[factors]\na=[1,0]",
        HEAD + "more=1\n[means]\n[factors]\n[ranges]\na=[0,1]",
    ],
)
def test_files_of_ranges_that_are_wrong_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "ranges.toml").write_text(text)
    with pytest.raises(CalibrationError) as caught:
        Ranges.read(tmp_path / "ranges.toml")
    assert caught.value.where == str(tmp_path / "ranges.toml")


# What integers stand for.


@given(st.floats(-1e30, 1e30, allow_subnormal=False), st.floats(-1e30, 1e30, allow_subnormal=False))
def test_integers_reach_the_ends_of_a_range_and_hold_zero(a: float, b: float) -> None:
    least, most = min(a, b), max(a, b)
    q = quantization(Range(least, most))
    q.check("x", (1,), "i8")
    (scale,), (point,) = q.scale, q.zero_point
    assert (-128 - point) * scale <= least + scale
    assert (127 - point) * scale >= most - scale


def test_weights_have_a_scale_per_channel_and_room_for_the_bias() -> None:
    weights = np.random.default_rng(6).normal(0, 1, (4, 3, 3, 3)).astype(np.float32)
    weights[1] = 0
    weights[2] *= 1e-9
    bias = np.array([1, 0, 1, 1e-3], np.float32)
    scales = weight_scales(weights, bias, 0.05)
    np.testing.assert_allclose(scales[[0, 3]], abs(weights[[0, 3]]).max((1, 2, 3)) / 127, rtol=1e-6)
    assert scales[1] == 1
    steps = bias.astype(np.float64) / (scales * 0.05)
    assert (abs(steps) < 2**31).all()


@pytest.mark.parametrize("group", [1, 2, 4])
def test_the_bias_makes_up_for_what_rounding_takes_in_the_mean(group: int) -> None:
    rng = np.random.default_rng(7)
    rounding, means = rng.normal(0, 1, (8, 4 // group, 3, 3)), rng.normal(0, 1, 4)
    x = np.broadcast_to(means.reshape(1, 4, 1, 1), (1, 4, 3, 3)).astype(np.float32)
    block = Program("conv")
    block.add_input("x", x.shape)
    weights = block.block.add_constant(rounding.astype(np.float32))
    block.outputs = block.block.add_op("conv", ["x", weights], {"group": group})
    (wanted,) = Session(block).run({"x": x}).values()
    np.testing.assert_allclose(
        mean_error(rounding, means), wanted[0, :, 0, 0], rtol=1e-5, atol=1e-5
    )
