"""Atomic files: their state after errors, and locks between processes."""

from __future__ import annotations

import errno
import multiprocessing
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.disks import small_disk
from trimtab import files
from trimtab.errors import FileAccessError, ModelFileError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_and_its_folders_are_made(tmp_path: Path) -> None:
    files.write_text(tmp_path / "a" / "b.txt", "ü\n")
    files.write_bytes(tmp_path / "a" / "c", memoryview(b"\0\1"))
    assert (tmp_path / "a" / "b.txt").read_bytes() == "ü\n".encode()
    assert (tmp_path / "a" / "c").read_bytes() == b"\0\1"
    assert names(tmp_path / "a") == ["b.txt", "c"]


def test_a_new_file_has_default_permissions_unless_mode_is_set(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    files.write_text(tmp_path / "ours", "")
    files.write_text(tmp_path / "tool", "", mode=0o755)
    rights = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert rights["ours"] == rights["usual"]
    assert rights["tool"] == 0o755


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    file = tmp_path / "file"
    file.write_text("old")

    def interrupted() -> None:
        with files.replacing(file) as part:
            part.write_text("half of the n")
            assert len(names(tmp_path)) == 2
            raise error

    with pytest.raises(error):
        interrupted()
    assert file.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with files.replacing(file) as part:
        part.write_text("new")
        assert not file.exists()
    assert file.read_text() == "new"


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for a few pages."""
    with small_disk(tmp_path / "small", 32 * 1024) as folder:
        yield folder


def test_a_full_disk_is_reported_and_leaves_no_partial_file(full_disk: Path) -> None:
    file = full_disk / "net.ttm"
    file.write_text("old")
    with pytest.raises(ModelFileError, match="No space left") as refused:
        files.write_bytes(file, bytes(1 << 20), error=ModelFileError, hint="remove something")
    assert (refused.value.where, refused.value.hint) == (str(file), "remove something")
    assert file.read_text() == "old"
    assert names(full_disk) == ["net.ttm"]


def test_the_message_names_the_file_and_the_cause(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileAccessError) as refused:
        files.write_text(tmp_path / "file" / "report.md", "")
    assert refused.value.where == str(tmp_path / "file" / "report.md")
    assert refused.value.what == f"cannot be written: File exists: {tmp_path / 'file'}"
    with pytest.raises(FileAccessError, match="Is a directory") as refused:
        files.write_text(tmp_path, "")
    assert ".part" not in str(refused.value)


def test_a_symbolic_link_is_followed_and_kept(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "link").symlink_to("deep/file")
    files.write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "file").read_text() == "text"


def test_a_device_or_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    command = "from pathlib import Path; from trimtab import files; "
    command += "files.write_text(Path('/dev/stdout'), 'through the pipe')"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert done.stdout == "through the pipe"
    files.write_text(Path(os.devnull), "gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_an_equal_file_keeps_its_time_stamp(tmp_path: Path) -> None:
    file = tmp_path / "generated.h"
    files.write_if_changed(file, "one")
    os.utime(file, ns=(1, 1))
    files.write_if_changed(file, "one")
    assert file.stat().st_mtime_ns == 1
    files.write_if_changed(file, "two")
    assert (file.read_text(), file.stat().st_mtime_ns != 1) == ("two", True)


def test_a_check_of_a_file_leaves_no_folder_behind(tmp_path: Path) -> None:
    files.check_writable(tmp_path / "a" / "b" / "c.txt")
    assert not (tmp_path / "a").exists()
    with pytest.raises(FileAccessError):
        files.check_writable(Path("/proc/x/c.txt"))


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for content in ("first", "second"):
        with files.replacing_folder(folder) as fresh:
            (fresh / content).touch()
    assert names(folder) == ["second"]
    assert names(tmp_path) == ["out"]


def test_a_symbolic_link_to_a_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with files.replacing_folder(tmp_path / "link") as fresh:
        (fresh / "file").touch()
    assert names(tmp_path) == ["link", "real"]
    assert names(tmp_path / "real") == ["file"]


def test_a_folder_that_was_not_completed_leaves_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "old").touch()

    def refused() -> None:
        with files.replacing_folder(folder) as fresh:
            (fresh / "new").touch()
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FileAccessError, match="No space left"):
        refused()
    assert names(folder) == ["old"]
    assert names(tmp_path) == ["out"]


def test_a_folder_that_cannot_take_its_name_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rename = tmp_path / "out", Path.rename
    folder.mkdir()
    (folder / "old").write_text("content")

    def refused(path: Path, target: Path) -> Path:
        if target == folder and (path / "new").exists():
            raise OSError(errno.EIO, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refused)
    with (
        pytest.raises(FileAccessError, match="Input/output error"),
        files.replacing_folder(folder) as fresh,
    ):
        (fresh / "new").touch()
    assert names(tmp_path) == ["out"]
    assert names(folder) == ["old"]
    assert (folder / "old").read_text() == "content"


def append_slowly(folder: Path, word: str) -> None:
    with files.locked(folder / "lock"):
        for _ in range(3):
            with (folder / "log").open("a") as log:
                log.write(word)
            time.sleep(0.02)


def test_a_lock_admits_one_process_at_a_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=append_slowly, args=(tmp_path, word)) for word in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    log = (tmp_path / "log").read_text()
    assert sorted(log[i : i + 3] for i in range(0, 9, 3)) == ["aaa", "bbb", "ccc"]


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    command = "import os, sys; from pathlib import Path; from trimtab import files\n"
    command += "with files.locked(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", command, str(tmp_path / "lock")], check=False)
    with files.locked(tmp_path / "lock"):
        assert (tmp_path / "lock").exists()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_was_writing_is_removed_by_the_next_write(
    tmp_path: Path, kind: str
) -> None:
    replacing = {"file": "replacing", "folder": "replacing_folder"}[kind]
    target = {"file": "part", "folder": "(part / 'a')"}[kind]
    command = (
        "import os, signal, sys; from pathlib import Path; from trimtab import files\n"
        f"with files.{replacing}(Path(sys.argv[1])) as part:\n"
        f"    {target}.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", command, str(tmp_path / "x")], check=False)
    assert len(names(tmp_path)) == 1, "the second run has removed what the first one left"
    with getattr(files, replacing)(tmp_path / "x") as own:
        own.touch()
        with getattr(files, replacing)(tmp_path / "xx") as other:
            other.touch()
        assert own.exists(), "this process lives, and another file has another name"
    assert not [name for name in names(tmp_path) if name.endswith(".part")]


def test_a_partial_file_of_another_machine_is_removed_after_a_day(tmp_path: Path) -> None:
    old, new = (tmp_path / f".x.0000000{i}-1-0123abcd.part" for i in range(2))
    for file in (old, new):
        file.touch()
    os.utime(old, (1000, 1000))
    (tmp_path / ".x.part").touch()  # of somebody else
    files.write_text(tmp_path / "x", "")
    assert names(tmp_path) == sorted(["x", ".x.part", new.name])
