"""The same binary from every host, and the engine for other systems."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import trimtab
from lab import committed
from lab.hosts import cross, emulation, trial
from tests.build.samples import SHAPE, relu, tiny
from tests.build.test_odd_paths import checkout
from tests.devices.conftest import require
from tests.some import some
from trimtab import files, paths, strict_json, tables
from trimtab.build import toolchain
from trimtab.errors import EmulatorError

TOOLCHAIN = "aarch64-linux-musl"
HEADS = {
    "macos-arm64": b"\xcf\xfa\xed\xfe\x0c\0\0\1",  # MH_MAGIC_64, CPU_TYPE_ARM64
    "macos-x86-64": b"\xcf\xfa\xed\xfe\7\0\0\1",  # CPU_TYPE_X86_64
    "windows-x64": b"MZ",
}

# Builds the network of one operator and prints the delivery's digests, as another checkout does.
BUILD = f"""
import json, sys
from pathlib import Path
from lab.hosts.trial import delivered
from tests.build.samples import tiny
from trimtab import paths

folder = Path(sys.argv[1])
assert paths.root() == folder, "the copy is what is built"
print(json.dumps(delivered(tiny(folder, "{TOOLCHAIN}").output_dir)))
"""


def test_a_toolchain_of_devices_tells_the_compiler_nothing_about_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path))
    for name in some(toolchain.list_toolchains()):
        chosen = toolchain.find_toolchain(name)
        if chosen.compiler == "zig" and chosen.device:
            text = toolchain.cmake_file(chosen).read_text()
            flags = re.findall(r"set\(TRIMTAB_\w+_FLAGS \[==\[(.*)\]==\]\)", text)
            assert len(flags) == 2
            assert not re.search(r"/|native", "".join(flags)), name


@pytest.mark.build
def test_a_binary_and_its_library_name_no_folder_of_their_host(tmp_path: Path) -> None:
    built = tiny(tmp_path, TOOLCHAIN)
    folders = [paths.root(), paths.cache(), toolchain.zig_program().parent, Path.home() / ".cache"]
    for path in (built.runner, built.library, built.model):
        assert path
        data = path.read_bytes()
        assert not [folder for folder in folders if bytes(folder) in data], path.name


@pytest.mark.build
def test_another_checkout_with_one_cpu_and_no_compile_cache_builds_the_same_bytes(
    tmp_path: Path,
) -> None:
    here = trial.delivered(tiny(tmp_path, TOOLCHAIN).output_dir)
    assert {"trimtab-run", "libtrimtab.a", "relu.ttm"} <= here.keys()
    folder = tmp_path / "somewhere else"
    python = checkout(folder)
    (folder / ".venv/bin/ccache").unlink()
    (folder / ".cache").mkdir()
    (folder / ".cache/zig").symlink_to(paths.cache() / "zig")  # which zig checks by content
    # In the locale C, Python 3.11 cannot read a .pth file with an umlaut.
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    argv = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
    argv += [python, "-P", "-c", BUILD, str(folder)]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert strict_json.loads(done.stdout) == here


# Windows' C++ library takes zig a minute.
@pytest.mark.build
@pytest.mark.parametrize(
    "name",
    [
        "macos-arm64",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("macos-x86-64", "windows-x64")),
    ],
)
def test_the_library_and_the_runner_link_for_other_systems(tmp_path: Path, name: str) -> None:
    program, _ = relu(tmp_path, cross.HOSTS[name].arch)
    profile = tmp_path / "relu.toml"
    profile.write_text(trimtab.profile_of(program).to_toml())
    assert cross.link(name, profile).read_bytes().startswith(HEADS[name])


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("name", ["macos-arm64", "macos-x86-64"])
def test_the_python_extension_links_for_a_mac(name: str) -> None:
    assert cross.link_for_mac(name).read_bytes().startswith(HEADS[name])


@pytest.mark.build
@pytest.mark.skipif(os.geteuid() != 0, reason="making the namespace needs root")
def test_a_program_of_aarch64_starts_in_its_namespace_and_not_outside(tmp_path: Path) -> None:
    require("qemu-aarch64", "qemu-user")
    built = tiny(tmp_path, TOOLCHAIN)
    (tmp_path / "x.bin").write_bytes(bytes(4 * math.prod(SHAPE)))
    argv = [str(built.runner), str(built.model), "--input", str(tmp_path / "x.bin")]
    argv += ["--runs", "1", "--min-time-ms", "0"]
    qemu = shutil.which("qemu-aarch64")
    assert qemu
    try:
        with emulation.namespace(Path(qemu)) as within:
            done = subprocess.run([*within, *argv], capture_output=True, check=False)
    except EmulatorError as error:  # Linux before 6.7
        pytest.skip(str(error))
    assert done.returncode == 0, done.stderr
    if not Path("/proc/sys/fs/binfmt_misc/qemu-aarch64").exists():
        with pytest.raises(OSError, match="Exec format error"):
            subprocess.run(argv, check=False)


def test_trials_are_a_table_with_the_files_that_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery with one byte more on the board is different; what names folders may differ."""
    for place, runner in (("here", b"\1"), ("board", b"\1\2")):
        folder = tmp_path / place
        (folder / "debug").mkdir(parents=True)
        names = {"trimtab-run": runner, "net.ttm": b"\3", "debug/map": place.encode()}
        facts = {}
        for name, data in names.items():
            (folder / name).write_bytes(data)
            facts[name] = {"sha256": files.sha256(folder / name)}
        (folder / "build.json").write_text(strict_json.dumps({"files": facts}))
    same, problem = trial.compared(tmp_path / "here", tmp_path / "board")
    assert [*same] == ["net.ttm"]
    assert problem == "different: trimtab-run"
    one = trial.HostTrial("net for cortex-a53", "build", "cortex-a72", 9, problem, same)
    monkeypatch.setattr(committed, "path_of", lambda _: tmp_path / "result.json")
    committed.write(trial.NAME, trial.merged([one]))
    again = trial.HostTrial("net for cortex-a53", "build", "cortex-a72", 8, "", same)
    committed.write(trial.NAME, trial.merged([again]))
    assert trial.HOSTS.rows() == [again]
    last = tables.text([trial.table([again])]).splitlines()[-1]
    assert last.split()[-3:] == ["well", "net.ttm", "8"]
