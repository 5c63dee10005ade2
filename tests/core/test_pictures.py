"""The runner's decoders of JPEG and PNG files, beside Pillow's."""

from __future__ import annotations

import io
import itertools
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests import check_programs
from tests.core import picture_files
from tests.core.picture_files import CHANNELS, png
from tests.some import some

pytestmark = pytest.mark.build

SIZES = ((1, 1), (2, 3), (3, 2), (9, 7), (17, 31), (101, 77))
DAMAGED = "a JPEG or PNG file is damaged"
OTHER = "a JPEG or PNG file is of a kind that is not read"

Pixels = NDArray[np.uint8]


def scene(width: int, height: int) -> Pixels:
    """Smooth colors with some noise."""
    y, x = np.mgrid[:height, :width]
    colors = np.stack([x * 2, y * 3, (x * 3 + y * 5) % 256], -1)
    noise = np.random.default_rng(width).integers(-20, 20, colors.shape)
    return np.clip(colors + noise, 0, 255).astype(np.uint8)


def saved(pixels: Pixels, kind: str, mode: str = "RGB", **options: object) -> bytes:
    """A file that Pillow writes."""
    stream = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(stream, kind, **options)
    return stream.getvalue()


def decoded(folder: Path, contents: Mapping[str, bytes]) -> dict[str, tuple[str, Pixels | None]]:
    """The answer of the program to each file, without the size; and its pixels, if it has any."""
    program = check_programs.build("host", "decode_pictures") / "decode_pictures"
    paths = [folder / name for name in contents]
    for path, data in zip(paths, contents.values(), strict=True):
        path.write_bytes(data)
    done = subprocess.run([program, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths)
    results: dict[str, tuple[str, Pixels | None]] = {}
    for path, line in zip(paths, lines, strict=True):
        size, _, outcome = line.rpartition(": ") if line[0].isdigit() else ("", "", line)
        pixels = None
        if outcome == "decoded":
            width, height, _ = map(int, size.split())
            raw = np.fromfile(path.with_name(f"{path.name}.rgb"), np.uint8)
            pixels = raw.reshape(height, width, 3)
        results[path.name] = (outcome, pixels)
    return results


def test_jpeg_files_are_those_that_pillow_reads(tmp_path: Path) -> None:
    contents = {}
    for (width, height), subsampling, progressive, quality, restart in itertools.product(
        SIZES, (0, 1, 2), (False, True), (30, 95), (0, 3)
    ):
        options: dict[str, Any] = {"progressive": progressive, "restart_marker_blocks": restart}
        contents[f"{width}x{height}-{subsampling}-{progressive}-{quality}-{restart}"] = saved(
            scene(width, height), "jpeg", quality=quality, subsampling=subsampling, **options
        )
    for progressive in (False, True):
        contents[f"gray-{progressive}"] = saved(scene(30, 41), "jpeg", "L", progressive=progressive)
    contents["rgb"] = saved(scene(30, 41), "jpeg", keep_rgb=True)
    results = decoded(tmp_path, contents)
    assert len(results) == 6 * 3 * 2 * 2 * 2 + 3
    for name, (outcome, pixels) in results.items():
        assert pixels is not None, (name, outcome)
        expected = np.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int)
        difference = np.abs(pixels - expected)
        # Few samples are rounded in another way; 1.772 of one reach a pixel, beside the luma's.
        assert difference.max() <= 3, name
        assert difference.mean() < 0.05, name


def test_the_colors_of_a_jpeg_file_follow_its_segments_and_names_as_in_libjpeg(
    tmp_path: Path,
) -> None:
    plain = saved(scene(30, 41), "jpeg", subsampling=0)
    names = ("\x01\x02\x03", "RGB", "RGC", "RHB", "SGB", "\x00\x01\x02")
    segments = (b"JFIF\0", b"JFXX\0", b"JXIF\0", b"")
    contents = {
        f"{i}-{j}-{transform}": picture_files.jpeg_with(
            plain, app0, transform, ids.encode("latin1")
        )
        for i, ids in enumerate(names)
        for j, app0 in enumerate(segments)
        for transform in (None, 0, 1)
    }
    results = decoded(tmp_path, contents)
    for name, (outcome, pixels) in some(results.items()):
        assert pixels is not None, (name, outcome)
        expected = np.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int)
        assert np.abs(pixels - expected).max() <= 3, name


def test_jpeg_files_of_other_encoders_are_read(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    factors = ("411", "420", "422", "440", "444")
    contents = {}
    for factor, size in itertools.product(factors, SIZES[3:]):
        chosen = getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{factor}")
        flags = [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, chosen, cv2.IMWRITE_JPEG_RST_INTERVAL, 2]
        contents[f"{factor}-{size[0]}"] = cv2.imencode(".jpg", scene(*size), flags)[1].tobytes()
    for name, (outcome, pixels) in some(decoded(tmp_path, contents).items()):
        assert pixels is not None, (name, outcome)
        expected = np.asarray(Image.open(tmp_path / name)).astype(int)
        assert np.abs(pixels - expected).max() <= 3, name


@pytest.mark.parametrize("interlaced", [False, True])
def test_png_files_of_every_kind_are_exact(interlaced: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    contents, expected = {}, {}
    depths = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
    for color, (width, height) in itertools.product(depths, SIZES):
        for depth in depths[color]:
            shape = (height, width, CHANNELS[color])
            samples = rng.integers(0, 1 << depth, shape)
            palette = rng.integers(0, 256, (1 << depth, 3), np.uint8) if color == 3 else None
            name = f"{color}-{depth}-{width}"
            contents[name] = png(
                samples, depth, color, interlaced=interlaced,
                palette=b"" if palette is None else palette.tobytes(),
            )  # fmt: skip
            bytes_of = samples >> 8 if depth == 16 else samples * 255 // ((1 << depth) - 1)
            colors = bytes_of[..., :3] if color in (2, 6) else bytes_of[..., :1].repeat(3, -1)
            expected[name] = colors if palette is None else palette[samples[..., 0]]
    assert len(expected) == 15 * len(SIZES)
    for name, (outcome, pixels) in some(decoded(tmp_path, contents).items()):
        assert pixels is not None, (name, outcome)
        np.testing.assert_array_equal(pixels, expected[name], name)


def test_png_files_that_pillow_writes_are_exact(tmp_path: Path) -> None:
    contents = {}
    for width, height in SIZES:
        for level in (0, 1, 9):
            contents[f"{level}-{width}"] = saved(scene(width, height), "png", compress_level=level)
        for mode in ("1", "L", "LA", "P", "RGBA"):
            contents[f"{mode}-{width}"] = saved(scene(width, height), "png", mode)
    long = np.zeros((300, 500, 3), np.uint8)  # copies from as far as the window reaches
    long[::7] = np.random.default_rng(1).integers(0, 256, (500, 3), np.uint8)
    contents["long"] = saved(long, "png", compress_level=9)
    for name, (outcome, pixels) in some(decoded(tmp_path, contents).items()):
        assert pixels is not None, (name, outcome)
        expected = np.asarray(Image.open(tmp_path / name).convert("RGB"))
        np.testing.assert_array_equal(pixels, expected, name)


def test_kinds_that_are_not_read_say_so(tmp_path: Path) -> None:
    pixels = scene(9, 7)
    jpeg = saved(pixels, "jpeg")
    frame = jpeg.index(b"\xff\xc0")
    contents = {
        "cmyk": saved(pixels, "jpeg", "CMYK"),
        "12 bits": jpeg[: frame + 4] + b"\x0c" + jpeg[frame + 5 :],
        "arithmetic": jpeg[: frame + 1] + b"\xc9" + jpeg[frame + 2 :],
        "lossless": jpeg[: frame + 1] + b"\xc3" + jpeg[frame + 2 :],
    }
    results = decoded(tmp_path, contents)
    assert len(results) == 4
    for name, (outcome, _) in results.items():
        assert outcome.startswith(OTHER), name


def test_a_size_is_known_before_anything_is_decoded(tmp_path: Path) -> None:
    most = 1 << 14
    contents = {
        "most.png": picture_files.header(most, most, 16, 6),
        "more.png": picture_files.header(most + 1, 1, 8, 2),
        "huge.png": picture_files.header(1, 2**31, 8, 2),
        "none.png": picture_files.header(0, 4, 8, 2),
    }
    outcomes = {name: outcome for name, (outcome, _) in decoded(tmp_path, contents).items()}
    sides = "a JPEG or PNG file has a side above 16384 pixels"
    assert outcomes == {
        "most.png": "large", "more.png": sides, "huge.png": sides, "none.png": DAMAGED,
    }  # fmt: skip


def test_a_bomb_costs_the_memory_of_its_size_only(tmp_path: Path) -> None:
    rows = b"\0" * (1 + 3 * 400) * 400
    data = zlib.compress(rows * 60)  # 60 times as many rows as the picture has
    bomb = picture_files.header(400, 400, 8, 2) + picture_files.chunk(b"IDAT", data)
    (tmp_path / "bomb.png").write_bytes(bomb)
    program = check_programs.build("host", "decode_pictures") / "decode_pictures"
    done = subprocess.run(
        [program, tmp_path / "bomb.png"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"400 400 {2 * 1216}: {DAMAGED}\n"


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    wholes = {
        "png": png(scene(9, 7).astype(np.int64), 8, 2),
        "baseline": saved(scene(9, 7), "jpeg"),
        "progressive": saved(scene(9, 7), "jpeg", progressive=True),
    }
    contents = {
        f"{name}-{size}": whole[:size]
        for name, whole in wholes.items()
        # The last bytes only say that the file ends.
        for size in range(4, len(whole) - (12 if name == "png" else 4))
    }
    results = decoded(tmp_path, contents)
    assert len(results) > 1000
    # A progressive file may end after a scan: it is then coarser.
    wrong = [
        name
        for name, (outcome, _) in results.items()
        if outcome != DAMAGED and not name.startswith("progressive")
    ]
    assert wrong == []


@pytest.mark.parametrize(("strategy", "kind"), [(zlib.Z_FIXED, 1), (zlib.Z_DEFAULT_STRATEGY, 2)])
def test_blocks_of_the_reserved_kind_are_refused(strategy: int, kind: int, tmp_path: Path) -> None:
    """RFC 1951, 3.2.3: 11 is reserved; what follows is a block with fixed codes, or its own."""
    rows = np.tile(np.arange(64 * 3 + 1, dtype=np.uint8) % 17, (64, 1))
    rows[:, 0] = 0
    packing = zlib.compressobj(9, zlib.DEFLATED, 15, 9, strategy)
    packed = packing.compress(rows.tobytes()) + packing.flush()
    assert packed[2] >> 1 & 3 == kind
    contents = {}
    for name, bits in (("whole", 0), ("reserved", 3 << 1)):
        data = packed[:2] + bytes([packed[2] | bits]) + packed[3:]
        pixels = picture_files.chunk(b"IDAT", data) + picture_files.chunk(b"IEND", b"")
        contents[name] = picture_files.header(64, 64, 8, 2) + pixels
    outcomes = {name: outcome for name, (outcome, _) in decoded(tmp_path, contents).items()}
    assert outcomes == {"whole": "decoded", "reserved": DAMAGED}


def test_no_changed_byte_of_a_png_file_passes(tmp_path: Path) -> None:
    whole = png(scene(9, 7).astype(np.int64), 8, 2)
    contents = {}
    for at in range(4, len(whole) - 12):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        contents[str(at)] = bytes(changed)
    outcomes = {outcome for outcome, _ in decoded(tmp_path, contents).values()}
    assert outcomes == {DAMAGED}


def test_a_changed_jpeg_file_is_decoded_or_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    contents = {}
    for progressive in (False, True):
        whole = saved(scene(33, 20), "jpeg", progressive=progressive)
        for at in range(2, len(whole)):
            changed = bytearray(whole)
            changed[at] = rng.integers(0, 256)
            contents[f"{progressive}-{at}"] = bytes(changed)
    results = decoded(tmp_path, contents)
    assert len(results) > 1000
    reasons = ("decoded", DAMAGED, OTHER, "a JPEG or PNG file has a side", "large")
    assert all(outcome.startswith(reasons) for outcome, _ in results.values())
