"""Files of arrays: whoever reads them, damage, objects and expansion are one kind of error."""

from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trimtab import array_files
from trimtab.errors import CalibrationError, UsageError

DATA = np.arange(24, dtype=np.float32).reshape(4, 6)


def member(header: str, data: bytes = b"") -> bytes:
    """The content of an .npy file."""
    text = f"{header:<117}\n".encode()
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + data


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "."), content)
    return path


def flipped(path: Path) -> None:
    np.savez(path, x=DATA)
    content = bytearray(path.read_bytes())
    content[content.index(DATA.tobytes()) + 5] ^= 1
    path.write_bytes(content)


def undeflatable(path: Path) -> None:
    np.savez_compressed(path, x=np.repeat(DATA, 50, axis=0))
    content = bytearray(path.read_bytes())
    content[60:90] = b"\xff" * 30
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    np.savez(path, x=DATA)
    path.write_bytes(path.read_bytes()[:200])


def of_objects(path: Path) -> None:
    np.savez(path, x=np.array([{}, 1], dtype=object))


def of_records(path: Path) -> None:
    np.savez(path, x=np.zeros(3, [("a", "f4"), ("b", "i4")]))


def with_too_large_a_shape(path: Path) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}"
    archive(path, x__npy=member(header, bytes(64)))


def with_a_negative_shape(path: Path) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (-4, -4)}"
    archive(path, x__npy=member(header, bytes(64)))


def with_too_many_bytes(path: Path) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}"
    archive(path, x__npy=member(header, bytes(64)))


def with_text(path: Path) -> None:
    archive(path, notes__txt=b"no array")


def encrypted(path: Path) -> None:
    np.savez(path, x=DATA)
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag of the member, and that of the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def of_no_archive(path: Path) -> None:
    path.write_bytes(b"\x80\x04K\x01.")


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (flipped, "CRC"),
        (undeflatable, r"\w+"),
        (cut_off, "damaged, or not an .npz file"),
        (of_objects, "'x' has Python objects, not numbers"),
        (of_records, "'x' has records, not numbers"),
        (with_too_large_a_shape, "needs 4,398,046,511,104 bytes, and 192 are stored"),
        (with_a_negative_shape, r"\[-4, -4\]"),
        (with_too_many_bytes, "'x' has more bytes than its shape"),
        (with_text, "'notes.txt' is not an array"),
        (encrypted, "encrypted"),
        (of_no_archive, "damaged, or not an .npz file"),
        (os.mkfifo, "is not a regular file"),
        (Path.mkdir, "is not a regular file"),
    ],
)
@pytest.mark.parametrize("error", [CalibrationError, UsageError])
def test_a_file_that_is_no_archive_of_plain_arrays_is_one_kind_of_error(
    write: Callable[[Path], None], reason: str, error: array_files.Error, tmp_path: Path
) -> None:
    path = tmp_path / "a.npz"
    write(path)
    with pytest.raises(error, match=rf"is not a readable .npz file: .*{reason}") as caught:
        array_files.read_archive(path, error=error, hint="write it again")
    assert (caught.value.where, caught.value.hint) == (str(path), "write it again")
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i2", "u1", "?", "c8", "f2"])
@pytest.mark.parametrize("shape", [(), (0, 3), (4, 6)])
def test_arrays_are_those_that_numpy_wrote(
    dtype: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    array = np.asfortranarray(np.random.default_rng(1).normal(0, 9, shape).astype(dtype))
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", x=array, y=DATA)
        read = array_files.read_archive(tmp_path / "a.npz", error=UsageError, hint="")
        assert list(read) == ["x", "y"]
        np.testing.assert_array_equal(read["x"], array, strict=True)
    if array.size:
        np.save(tmp_path / "a.npy", array)
        mapped = array_files.read_array(tmp_path / "a.npy", error=UsageError, hint="")
        assert isinstance(mapped, np.memmap)
        np.testing.assert_array_equal(np.asarray(mapped), array, strict=True)


def test_gigabytes_in_a_small_archive_are_refused_unread(tmp_path: Path) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (805306368,)}"
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr("x.npy", member(header))
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02") + 24  # the size that the directory states
    content[at : at + 4] = (3 * 2**30).to_bytes(4, "little")
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(UsageError, match="3,221,225,472 bytes, too many for such a small file"):
        array_files.read_archive(path, error=UsageError, hint="")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_more_than_the_memory_of_the_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "a.npz", x=DATA)
    monkeypatch.setattr(array_files, "memory_bytes", lambda: 100)
    with pytest.raises(UsageError, match="and this machine 100 bytes of memory"):
        array_files.read_archive(tmp_path / "a.npz", error=UsageError, hint="")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x93NUMPY broken", r"\w+"),
        (member("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"N."), "Python objects"),
        (
            member("{'descr': '<f4', 'fortran_order': False, 'shape': (99,)}", bytes(64)),
            "needs 396 bytes",
        ),
        (b"", r"\w+"),
    ],
)
def test_a_damaged_file_of_one_array_is_refused(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=rf"is not a readable .npy file: .*{reason}"):
        array_files.read_array(path, error=UsageError, hint="")


def test_the_writer_of_these_tests_writes_what_numpy_reads(tmp_path: Path) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6)}"
    read = np.load(io.BytesIO(member(header, DATA.tobytes())))
    np.testing.assert_array_equal(read, DATA)
