"""A checkout in a folder whose name a shell, CMake or ninja may misread, and two checkouts whose
builds share their objects.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from trimtab import paths

SOURCES = [
    *("CMakeLists.txt", "bindings", "cores", "kernels", "profiles", "runtime", "toolchains"),
    "trimtab",
]

# Builds and runs a runner with its model inside, and compiles a part of the Python extension.
BUILD = """
import sys
from pathlib import Path
from tests.build.samples import runs_relu, tiny
from trimtab import paths
from trimtab.build import host_build, toolchain

folder = Path(sys.argv[1])
assert paths.root() == folder, "the copy is what is built"
delivery = tiny(folder, "host", embed_model=True)
assert runs_relu(delivery, folder)
assert folder.name not in " ".join(delivery.flags)
host_build.build(["CMakeFiles/_engine.dir/bindings/run_time_operators.cpp.o"], "a binding")
"""


def python_of(folder: Path) -> str:
    """A Python in `folder` with the packages of this one, which takes trimtab from there."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    packages = sysconfig.get_path("purelib", "venv", {"base": str(folder / ".venv")})
    lines = f"{folder}\n{sysconfig.get_path('purelib')}\n{paths.root()}\n"
    (Path(packages) / "all.pth").write_text(lines)
    programs = folder / ".venv" / "bin"
    for program in ("ninja", "ccache"):  # which their packages look for beside Python
        if (here := Path(sys.executable).with_name(program)).exists():
            (programs / program).symlink_to(here)
    return str(programs / "python")


COMPILE = """
from trimtab.build import host_build

host_build.build(["CMakeFiles/trimtab.dir/runtime/core/text.cpp.o"], "one object")
"""


def checkout(folder: Path) -> str:
    """A copy of the sources in `folder`; returns its Python."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        source = paths.root() / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    return python_of(folder)


def test_the_second_checkout_compiles_nothing_again(tmp_path: Path) -> None:
    """With one cache folder, whose name has a variable of the shell: nothing is written beside."""
    parent = tmp_path / "caches"
    cache = parent / "a $HOME b"
    cache.mkdir(parents=True)
    (cache / "zig").symlink_to(paths.cache() / "zig")
    environment = {**os.environ, "TRIMTAB_CACHE_DIR": str(cache)}
    ccache = [str(Path(sys.executable).with_name("ccache")), "--print-stats"]
    statistics = []
    for name in ("first", "further/down/second"):
        python = checkout(tmp_path / name)
        subprocess.run([python, "-P", "-c", COMPILE], env=environment, check=True)
        text = subprocess.run(
            ccache, env={"CCACHE_DIR": "$OBJECTS", "OBJECTS": str(cache / "objects")},
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        rows = dict(line.split("\t") for line in text.splitlines())
        statistics.append((int(rows["cache_miss"]), int(rows["direct_cache_hit"])))
    (missed, hit), second = statistics
    assert missed > 0
    assert hit == 0
    assert second == (missed, missed)  # the object, and the probes of CMake
    assert [path.name for path in parent.iterdir()] == [cache.name]


def test_a_checkout_builds_in_a_path_with_a_space_a_quote_and_an_accent(tmp_path: Path) -> None:
    folder = tmp_path / "trim tab's é & $HOME"  # in CMake, a double quote breaks
    python = checkout(folder)
    (folder / ".cache").mkdir()
    for name in ("zig", "objects"):  # so that no C library is compiled again
        (paths.cache() / name).mkdir(parents=True, exist_ok=True)
        (folder / ".cache" / name).symlink_to(paths.cache() / name)
    words = [python, "-P", "-c", BUILD, str(folder)]
    environment = {key: value for key, value in os.environ.items() if key != "TRIMTAB_CACHE_DIR"}
    done = subprocess.run(
        words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
