"""The wrapper ./inv, run in a scratch folder with stand-ins for Python: nothing is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Behaves like a complete Python, makes a "venv" that contains itself, and logs its arguments.
STAND_IN = """#!/bin/sh
log={log}
case "$*" in
    *version_info*)           exit {too_old} ;;
    *ensurepip*)              exit {incomplete} ;;
    "-c import pip")          exit 0 ;;
    "-m venv --clear "*)      mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
    *"pip install"*|*" install "*) echo start >>$log; sleep 0.2; echo end >>$log ;;
    "-P -m lab "*)    echo "tasks got: $*"; pwd ;;
esac
"""


class Scratch:
    """A folder with ./inv, a pyproject.toml, and a PATH that holds one Python."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "check out"
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.root.mkdir()
        self.bin.mkdir()
        self.log.touch()
        shutil.copy(ROOT / "inv", self.root)
        (self.root / "pyproject.toml").write_text("[project]\n")
        (self.root / "requirements.lock").touch()
        for name in ["sh", "dirname", "cat", "cmp", "rm", "id", "mkdir", "cp", "sleep", "flock"]:
            (self.bin / name).symlink_to(shutil.which(name) or "")

    def python(self, *, too_old: int = 0, incomplete: int = 0) -> None:
        script = STAND_IN.format(log=self.log, too_old=too_old, incomplete=incomplete)
        (self.bin / "python3").write_text(script)
        (self.bin / "python3").chmod(0o755)

    def start(self, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.root / "inv", *arguments],
            env={"PATH": str(self.bin)},
            cwd=cwd,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
        process = self.start(*arguments, cwd=cwd)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def installs(self) -> list[str]:
        return self.log.read_text().split()


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def test_installs_once_and_hands_over_to_the_tasks(scratch: Scratch) -> None:
    scratch.python()
    code, out, err = scratch.run("build", "--model", "a b.onnx")
    assert code == 0
    assert "tasks got: -P -m lab build --model a b.onnx" in out
    assert str(scratch.root / ".venv") in err
    before = scratch.installs()
    assert scratch.run("x")[2] == ""
    assert scratch.installs() == before


def test_works_from_any_folder_and_stays_there(scratch: Scratch, tmp_path: Path) -> None:
    scratch.python()
    _, out, _ = scratch.run("x", cwd=tmp_path)
    assert out.splitlines()[-1] == str(tmp_path)
    assert (scratch.root / ".venv").is_dir()


@pytest.mark.parametrize("change", ["requirements", "place"])
def test_installs_again_when_what_it_depends_on_has_changed(scratch: Scratch, change: str) -> None:
    scratch.python()
    scratch.run("x")
    before = len(scratch.installs())
    if change == "requirements":
        (scratch.root / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    else:
        scratch.root = scratch.root.rename(scratch.root.with_name("moved"))
    assert scratch.run("x")[0] == 0
    assert len(scratch.installs()) > before


def test_two_at_once_install_only_once(scratch: Scratch) -> None:
    scratch.python()
    processes = [scratch.start("x") for _ in range(3)]
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert "tasks got" in out
    # Two calls of pip, one after the other: the backend, then the project.
    assert scratch.installs() == ["start", "end"] * 2


def test_says_what_to_install_when_python_is_too_old_or_absent(scratch: Scratch) -> None:
    scratch.python(too_old=1)
    code, out, err = scratch.run("x")
    assert code == 50
    assert "no Python >= 3.11 found; next: sudo apt-get install python3" in err
    assert not out


def test_says_what_to_install_when_python_lacks_venv_and_there_is_no_root(scratch: Scratch) -> None:
    scratch.python(incomplete=1)
    # `id -u` of a user who is not root; there is no sudo in this PATH.
    (scratch.bin / "id").unlink()
    (scratch.bin / "id").write_text("#!/bin/sh\necho 1000\n")
    (scratch.bin / "id").chmod(0o755)
    code, _, err = scratch.run("x")
    assert code == 50
    assert "next: sudo apt-get install" in err
    assert not (scratch.root / ".venv").exists()


def test_leaves_no_stamp_when_the_installation_fails(scratch: Scratch) -> None:
    scratch.python()
    script = (scratch.bin / "python3").read_text().replace("echo end >>$log", "exit 1")
    (scratch.bin / "python3").write_text(script)
    code, _, err = scratch.run("x")
    assert code == 50
    assert "pip failed; next:" in err
    assert scratch.run("x")[0] == 50
