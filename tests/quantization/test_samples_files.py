"""Invalid files of samples."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trimtab import array_files
from trimtab.errors import CalibrationError
from trimtab.quantization import picture_samples

INPUTS = {"data": ((1, 3, 4, 6), "float32")}
DATA = np.random.default_rng(1).normal(0, 1, (6, 3, 4, 6)).astype(np.float32)


def damaged(path: Path) -> None:
    """Compressed data of an .npz file that cannot be unpacked."""
    np.savez_compressed(path, data=np.repeat(DATA, 20, axis=0))
    content = bytearray(path.read_bytes())
    content[500:600] = b"\xff" * 100
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    np.savez(path, data=DATA)
    path.write_bytes(path.read_bytes()[:900])


def of_objects(path: Path) -> None:
    np.savez(path, data=np.array([{}], dtype=object))


def with_nan(path: Path) -> None:
    np.savez(path, data=np.full((1, 3, 4, 6), np.nan, np.float32))


def pickled(path: Path) -> None:
    path.write_bytes(b"\x80\x04K\x01.")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (damaged, "not a readable .npz file"),
        (cut_off, "not a readable .npz file"),
        (of_objects, "has Python objects, not numbers"),
        (with_nan, "not finite numbers"),
        (pickled, "damaged, or not an .npz file"),
    ],
)
def test_an_unusable_file_of_arrays_is_refused_with_a_hint(
    write: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.npz"
    write(path)
    with pytest.raises(CalibrationError, match=message) as caught:
        picture_samples.read(path, INPUTS)
    assert caught.value.where == str(path)
    assert caught.value.hint
    assert "pickle" not in str(caught.value)


def test_an_array_without_a_name_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "single.npy", DATA)
    with pytest.raises(CalibrationError, match="a single array without a name") as caught:
        picture_samples.read(tmp_path / "single.npy", INPUTS)
    assert "numpy.savez" in caught.value.hint


def test_a_single_picture_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    with pytest.raises(CalibrationError, match="a single picture") as caught:
        picture_samples.read(tmp_path / "a.png", INPUTS)
    assert "folder" in caught.value.hint


@pytest.mark.parametrize(
    "settings", ["scale = 0", "scale = [1, 0, 1]", "scale = nan", "mean = inf", "= =", "sigma = 3"]
)
def test_invalid_settings_of_pictures_are_refused_with_a_hint(
    settings: str, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    (tmp_path / picture_samples.SETTINGS).write_text(settings)
    with pytest.raises(CalibrationError) as caught:
        picture_samples.read(tmp_path, INPUTS)
    assert caught.value.where == str(tmp_path / picture_samples.SETTINGS)
    assert caught.value.hint
    (tmp_path / picture_samples.SETTINGS).unlink()
    with pytest.raises(CalibrationError, match="is not a picture") as caught:
        picture_samples.read(tmp_path, INPUTS).feed(0)
    assert caught.value.hint


@pytest.mark.parametrize("format", ["EPS", "GIF", "TIFF", "ICO", "PDF"])
def test_a_picture_of_another_format_is_not_opened(format: str, tmp_path: Path) -> None:
    """Pillow goes by the content, and starts Ghostscript for PostScript."""
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (32, 32)).save(tmp_path / "a.png", format)
    with pytest.raises(CalibrationError, match=r"a\.png: is not a picture"):
        picture_samples.read(tmp_path, INPUTS).feed(0)


@pytest.mark.parametrize(
    ("format", "name"),
    [
        *(("PNG", "a.png"), ("JPEG", "a.jpg"), ("JPEG", "a.jpeg"), ("BMP", "a.bmp")),
        *(("WEBP", "a.webp"), ("PPM", "a.ppm"), ("MPO", "a.jpg")),
    ],
)
def test_a_picture_of_each_format_is_read(format: str, name: str, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (6, 4), (255, 255, 255)).save(tmp_path / name, format)
    assert picture_samples.read(tmp_path, INPUTS).feed(0)["data"].min() == pytest.approx(1)


def test_what_is_no_file_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to("/dev/null")
    (tmp_path / "b.png").mkdir()
    with pytest.raises(CalibrationError, match="has no pictures"):
        picture_samples.read(tmp_path, INPUTS)


def archive(path: Path, header: str, data: bytes = b"") -> Path:
    """An .npz file whose array `data` has this header."""
    text = f"{header:<{117 + len(header) // 64 * 64}}\n".encode()
    member = b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + data
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.npy", member)
    return path


@pytest.mark.parametrize("header", ["[" * 3000, "(" * 900 + ")" * 900, "{1: 2}", "lambda: 3"])
def test_a_header_that_is_no_header_is_refused(header: str, tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"is not a readable .npz file: .+"):
        picture_samples.read(archive(tmp_path / "s.npz", header), INPUTS)


def test_an_archive_that_expands_beyond_reason_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (400, 3, 4, 6)}"
    path = archive(tmp_path / "s.npz", header, bytes(400 * 3 * 4 * 6 * 4))
    assert picture_samples.read(path, INPUTS).count == 400
    monkeypatch.setattr(array_files, "SMALL_BYTES", 2**16)
    with pytest.raises(CalibrationError, match=r"115,\d\d\d bytes, too many for such a small file"):
        picture_samples.read(path, INPUTS)
    np.savez(tmp_path / "t.npz", data=np.zeros((400, 3, 4, 6), np.float32))
    assert picture_samples.read(tmp_path / "t.npz", INPUTS).count == 400, (
        "it is as large as its arrays"
    )
