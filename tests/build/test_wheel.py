"""The wheel: it has its engine, and everything that builds binaries for devices."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.build, pytest.mark.slow]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs."""
    folder = tmp_path_factory.mktemp("wheel")
    # From a clone: neither an engine nor a cache that lies in the checkout may help.
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder / "clone")], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(folder / "clone")]
    subprocess.run(command, check=True, timeout=1500)
    (wheel,) = folder.glob("trimtab-*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "installed")
    return folder / "installed"


def run(installed: Path, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with the wheel's trimtab and this environment's dependencies.

    -S leaves out the hook of the editable install, which would bring back the checkout.
    """
    path = f"{installed}{os.pathsep}{sysconfig.get_path('platlib')}"
    environment = {**os.environ, "PYTHONPATH": path, "TRIMTAB_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=cache, env=environment, capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip


def test_the_wheel_runs_a_network_on_this_machine(installed: Path, tmp_path: Path) -> None:
    program = (
        "import trimtab; from trimtab import zoo\n"
        "name = 'squeezenet'\n"
        "session = trimtab.Session(trimtab.load(zoo.write(name, '.')))\n"
        "print(trimtab.__file__)\n"
        "print(session.run(zoo.sample_input(name))[session.output_names[0]].shape)"
    )
    done = run(installed, tmp_path, "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == [f"{installed}/trimtab/__init__.py", "(1, 1000)"]


def test_the_wheel_builds_a_binary_for_a_device(installed: Path, tmp_path: Path) -> None:
    arguments = ["build", "--model", "squeezenet", "--toolchain", "aarch64-linux-musl"]
    done = run(installed, tmp_path, "-m", "trimtab.cli", *arguments, "--output", "out")
    assert done.returncode == 0, done.stderr
    # ELF, little-endian, for machine 183 (EM_AARCH64).
    head = (tmp_path / "out" / "trimtab-run").read_bytes()[:20]
    assert head[:6] == b"\x7fELF\x02\x01"
    assert int.from_bytes(head[18:20], "little") == 183
