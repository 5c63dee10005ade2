"""The package, outside of the checkout: a source distribution, the wheel built from it, audited and
installed into an empty environment. It has its engine and everything that builds binaries for
devices, no developers' tools, and does the main job.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import trimtab
from lab.dev import distribution
from tests.devices.servers import require
from trimtab import paths

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.build, pytest.mark.slow]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel of a release and its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    # From a clone: neither an engine nor a cache that lies in the checkout may help.
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder / "clone")], check=True)
    (folder / "dist").mkdir()
    # Only the compiled C++ library of zig is taken from here.
    patch = pytest.MonkeyPatch()
    patch.setenv("TRIMTAB_CACHE_DIR", str(paths.cache()))
    sdist = distribution.build_sdist(folder / "clone", folder / "dist")
    wheel = distribution.build_wheel(distribution.unpacked(sdist, folder), folder / "dist")
    assert wheel.name.endswith(f"-manylinux_2_28_{os.uname().machine}.whl")
    patch.undo()
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    # Only the locked versions are tested.
    names = distribution.read_lock((ROOT / "requirements.lock").read_text()).items()
    pins = folder / "pins.txt"
    pins.write_text("".join(f"{name}=={package.version}\n" for name, package in names))
    argv = [str(python), "-m", "pip", "install", "--quiet", "--no-compile"]
    argv += [f"--constraint={pins}", str(wheel)]
    subprocess.run(argv, check=True, timeout=1500)
    return python


def run(python: Path, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the environment's Python in a separate folder."""
    environment = {**os.environ, "TRIMTAB_CACHE_DIR": str(cache)}
    return subprocess.run(
        [python, *arguments],
        cwd=cache, env=environment, capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip


def test_the_wheel_runs_a_network_on_this_machine(python: Path, tmp_path: Path) -> None:
    program = (
        "import trimtab; from trimtab import zoo\n"
        "name = 'squeezenet'\n"
        "session = trimtab.Session(trimtab.load(zoo.write(name, '.')))\n"
        "print(trimtab.__file__)\n"
        "print(session.run(zoo.sample_input(name))[session.output_names[0]].shape)"
    )
    done = run(python, tmp_path, "-c", program)
    assert done.returncode == 0, done.stderr
    place, shape = done.stdout.split("\n")[:2]
    assert Path(place).is_relative_to(python.parents[1])
    assert shape == "(1, 1000)"


def test_the_wheel_contains_every_file_that_its_tasks_read(python: Path, tmp_path: Path) -> None:
    program = "import trimtab.paths as p; print(p.package(), p.root())"
    package, root = map(Path, run(python, tmp_path, "-c", program).stdout.split())
    rooms = ("runtime", "kernels", "toolchains", "cores", "profiles", "devices", "sweeps")
    argv = ["git", "ls-files", "trimtab", *rooms, "templates", "CMakeLists.txt"]
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    names = listed.stdout.splitlines()
    lacking = [
        name
        for name in names
        if not (package.parent if name.startswith("trimtab/") else root).joinpath(name).is_file()
    ]
    assert len(names) > 500
    assert lacking == []
    done = run(python, tmp_path, "-m", "trimtab.cli", "sweep", "--file", "demo", "--dry-run")
    assert done.returncode == 0, done.stderr


def test_the_wheel_has_no_laboratory(python: Path, tmp_path: Path) -> None:
    done = run(python, tmp_path, "-c", "import lab")
    assert "No module named 'lab'" in done.stderr
    listed = run(python, tmp_path, "-m", "trimtab.cli", "--list").stdout
    assert "Developers' tasks" not in listed
    assert "  build " in listed


def test_texts_name_the_command_that_a_user_of_the_wheel_has(python: Path, tmp_path: Path) -> None:
    trimtab_command = str(python.with_name("trimtab"))
    program = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    helped = run(python, tmp_path, "-c", program, trimtab_command, "bench", "--help").stdout
    assert "(trimtab device)" in helped
    refused = run(python, tmp_path, "-m", "trimtab.cli", "report", "last")
    assert refused.returncode == 2
    assert "`trimtab report`" in refused.stderr
    assert "./inv" not in helped + refused.stderr


def test_the_wheel_does_the_main_job(python: Path, tmp_path: Path) -> None:
    """A network of the zoo becomes a static binary for a Cortex-A53, runs in QEMU, is compared with
    an independent reference, and reported, with empty caches.
    """
    require("qemu-aarch64", "qemu-user")
    bench = ["bench", "--model", "squeezenet", "--device", "qemu-a53", "--results", "runs"]
    done = run(python, tmp_path, "-m", "trimtab.cli", *bench)
    assert done.returncode == 0, done.stderr
    (record,) = (tmp_path / "runs").rglob("*.jsonl")
    reported = run(python, tmp_path, "-m", "trimtab.cli", "report", str(record))
    assert reported.returncode == 0, reported.stderr
    error = re.search(r"largest error (\S+) against onnx", reported.stdout)
    assert error
    assert float(error[1]) < 1e-5

    target = ["--toolchain", "aarch64-linux-musl", "--cpu", "cortex-a53"]
    build = ["build", "--model", "squeezenet", *target, "--output", "out"]
    done = run(python, tmp_path, "-m", "trimtab.cli", *build)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out" / "trimtab-run").open("rb") as file:
        elf = ELFFile(file)
        assert elf.get_machine_arch() == "AArch64"
        assert not any(segment["p_type"] == "PT_INTERP" for segment in elf.iter_segments())
    version = (tmp_path / "out/lib/pkgconfig/trimtab.pc").read_text()
    assert f"Version: {trimtab.__version__}\n" in version
