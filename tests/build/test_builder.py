"""Builds with real compilers; the output is inspected with binutils and run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

import trimtab
from tests import disks
from tests.build import samples
from tests.devices.conftest import require
from tests.recorded_progress import RecordedProgress
from trimtab import kernels, paths
from trimtab.bench.runner import interpret
from trimtab.build import host_build, toolchain
from trimtab.build.builder import Build, BuildRequest, build
from trimtab.devices import CommandResult
from trimtab.errors import BuildError, DeviceFullError, ProfileError, UsageError
from trimtab.profile import Profile, find_profile

pytestmark = pytest.mark.build

MACHINES = {
    "aarch64": "AArch64",
    "armv7": "ARM",
    "riscv64": "RISC-V",
    "x86_64": "Advanced Micro Devices X86-64",
}


def readelf(option: str, path: Path) -> str:
    require("readelf", "binutils")
    command = ["readelf", "-W", option, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return samples.tiny(tmp_path_factory.mktemp("host"), "host")


# The first link for RISC-V compiles its C library, for nearly a minute.
SLOW = pytest.mark.slow


@pytest.mark.device
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=SLOW if n.startswith("riscv") else ()) for n in samples.CROSS],
)
def test_binaries_of_every_toolchain_agree_with_numpy(name: str, tmp_path: Path) -> None:
    samples.need(name)
    delivery = samples.tiny(tmp_path, name)
    assert MACHINES[delivery.record["arch"]] in readelf("-h", delivery.runner)
    is_dynamic = "INTERP" in readelf("-l", delivery.runner)
    assert is_dynamic == name.endswith(("gnu", "gnueabihf"))
    assert samples.runs_relu(delivery, tmp_path)


def test_the_host_build_agrees_with_numpy(host: Build, tmp_path: Path) -> None:
    assert samples.runs_relu(host, tmp_path)


def test_the_runner_has_the_version_of_the_package(host: Build, tmp_path: Path) -> None:
    assert host.model
    (tmp_path / "x.bin").write_bytes(bytes(4 * math.prod(samples.SHAPE)))
    command = [str(host.runner), str(host.model), "--input", str(tmp_path / "x.bin")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed.splitlines()[0])["version"] == trimtab.__version__


@pytest.mark.parametrize("counters", ["", "0", "0:", "g:0", "0:0,", "0:0;", ",".join(["0:0"] * 13)])
def test_a_malformed_or_long_list_of_counters_is_refused(host: Build, counters: str) -> None:
    command = [str(host.runner), str(host.model), "--counters", counters]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "the list of counters is malformed or too long" in done.stdout


def test_the_runner_verifies_the_weights_unless_it_trusts_them(host: Build, tmp_path: Path) -> None:
    assert host.model
    damaged = bytearray(host.model.read_bytes())
    damaged[32] ^= 1  # the checksum of the constants
    (tmp_path / "net.ttm").write_bytes(damaged)
    (tmp_path / "x.bin").write_bytes(bytes(4 * math.prod(samples.SHAPE)))
    files = [tmp_path / "net.ttm", "--input", tmp_path / "x.bin"]
    command = [str(word) for word in (host.runner, *files)]
    trusted = subprocess.run([*command, "--trust"], capture_output=True, text=True, check=True)
    assert '"event":"verify"' not in trusted.stdout
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "the weights' checksum does not match" in refused.stdout
    assert '"event":"first"' not in refused.stdout
    command[1] = str(host.model)
    whole = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"event":"verify"' in whole.stdout


def test_a_full_disk_differs_from_a_failure_of_the_runner(host: Build, tmp_path: Path) -> None:
    assert host.model
    (tmp_path / "x.bin").write_bytes(bytes(4 * math.prod(samples.SHAPE)))
    command = [str(host.runner), str(host.model), "--input", str(tmp_path / "x.bin")]
    with disks.small_disk(tmp_path / "disk", 4096) as disk:
        (disk / "fill").write_bytes(bytes(4096))
        command += ["--output-dir", str(disk)]
        done = subprocess.run(command, capture_output=True, check=False)
    launch = interpret(CommandResult(done.returncode, None, done.stdout, done.stderr))
    assert isinstance(launch.error, DeviceFullError)


def started(delivery: Build, folder: Path, isa: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and lines of the runner where TRIMTAB_ISA is `isa`."""
    assert delivery.model is not None
    (folder / "x.bin").write_bytes(bytes(4 * math.prod(samples.SHAPE)))
    command = [str(delivery.runner), str(delivery.model), "--input", str(folder / "x.bin")]
    environment = os.environ | {"TRIMTAB_ISA": isa}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("isa", ["typo", "neon", "avx", "portable "])
def test_an_unknown_instruction_set_is_an_error_with_the_known_ones(
    host: Build, tmp_path: Path, isa: str
) -> None:
    code, lines = started(host, tmp_path, isa)
    assert code == 7
    assert lines[-1]["code"] == 7
    reference_names = [i.name for i in kernels.isas().values() if host.record["arch"] in i.arch]
    assert lines[-1]["message"] == f"TRIMTAB_ISA must be one of {', '.join(reference_names)}"


def test_a_runner_without_strings_still_checks_instruction_sets(tmp_path: Path) -> None:
    program, model = samples.relu(tmp_path, "x86_64")
    profile = dataclasses.replace(trimtab.profile_of(program), strings=False)
    delivery = build(BuildRequest(profile, tmp_path / "out", "host", model=model))
    assert b"TRIMTAB_ISA must" not in delivery.runner.read_bytes()
    code, lines = started(delivery, tmp_path, "typo")
    assert (code, lines[-1]["code"]) == (7, 7)
    assert started(delivery, tmp_path, "portable")[0] != 7


def test_an_instruction_set_hides_the_features_above_it(host: Build, tmp_path: Path) -> None:
    def features(isa: str) -> set[str]:
        code, lines = started(host, tmp_path, isa)
        assert code in (0, 5)  # 5: the kernel that is left was trimmed away
        return set(lines[0]["cpu_features"])

    everything = features("")
    assert features("portable") == set()
    for isa in kernels.isas().values():
        if host.record["arch"] in isa.arch and everything.issuperset(isa.features):
            assert features(isa.name).issuperset(isa.features)
            assert features(isa.name) <= everything
    if host.record["arch"] == "x86_64":
        assert not [name for name in features("avx2") if name.startswith("avx512")]


def test_a_device_binary_contains_no_cpp_library(tmp_path: Path) -> None:
    delivery = samples.tiny(tmp_path, "aarch64-linux-musl")
    require("nm", "binutils")
    names = subprocess.run(
        ["nm", "-C", str(delivery.unstripped)], capture_output=True, text=True, check=True
    ).stdout
    assert "main" in names
    assert not re.search(r"\bstd::|__cxa_throw|_Unwind_", names)
    assert delivery.runner.stat().st_size < 60_000


def test_a_delivery_is_complete_and_its_record_is_right(host: Build) -> None:
    record = json.loads((host.output_dir / "build.json").read_text())
    present = {str(p.relative_to(host.output_dir)) for p in host.output_dir.rglob("*.*")}
    present |= {host.runner.name}
    assert present == {*record["files"], "build.json"}
    for name, facts in record["files"].items():
        content = (host.output_dir / name).read_bytes()
        assert facts == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert record["operators"] == ["relu"]
    assert record["compiler"].startswith("zig ")
    assert "-fno-exceptions" in record["flags"]["compile"]
    assert "-Wl,--gc-sections" in record["flags"]["link"]
    assert not [flag for flag in record["flags"]["link"] if "/" in flag]


def compiled(host: Build, folder: Path, text: str) -> Path:
    """A C program that has the delivered header and library."""
    source, program = folder / "user.c", folder / "user"
    source.write_text(text)
    cc = toolchain.cmake_file(toolchain.find_toolchain("host")).with_name("cc")
    libraries = [str(host.library), "-lm", "-pthread"]
    command = [str(cc), f"-I{host.output_dir}", str(source), *libraries, "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def test_the_example_in_the_header_is_a_program(host: Build, tmp_path: Path) -> None:
    header = (host.output_dir / "trimtab.h").read_text()
    lines = header.partition("*/")[0].splitlines()
    example = [line.removeprefix(" *   ") for line in lines if line.startswith(" *   ")]
    assert example[0] == "trimtab_model* model;"
    assert example[-1] == "trimtab_close(model);"
    program = compiled(
        host,
        tmp_path,
        '#include "trimtab.h"\n#include <stdio.h>\n#include <stdlib.h>\n'
        f"int main(void) {{\n  static float image[{math.prod(samples.SHAPE)}] = {{3.5f}};\n"
        + "\n".join(example)
        + "\n  return 0;\n}\n",
    )
    refused = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (
        1,
        "cannot open net.ttm: No such file or directory",
    )
    assert host.model is not None
    (tmp_path / "net.ttm").write_bytes(host.model.read_bytes())
    done = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "3.5\n"


def test_a_c_program_embeds_the_library_with_the_header(host: Build, tmp_path: Path) -> None:
    program = compiled(
        host,
        tmp_path,
        '#include "trimtab.h"\n#include <stdio.h>\n'
        "int main(int argc, char** argv) {\n"
        "  trimtab_model* model; trimtab_tensor y; float x[105];\n"
        "  for (int i = 0; i < 105; ++i) x[i] = i - 2;\n"
        "  if (argc != 2 || trimtab_open_file(argv[1], 0, &model, 0, 0)) return 1;\n"
        "  if (trimtab_set_input(model, 0, x, sizeof x) || trimtab_run(model)) return 2;\n"
        "  if (trimtab_output(model, 0, &y)) return 3;\n"
        '  printf("%g %g", ((float*)y.data)[0], ((float*)y.data)[104]);\n'
        "  trimtab_close(model);\n  return 0;\n}\n",
    )
    assert host.model is not None
    output = subprocess.run([program, host.model], capture_output=True, text=True, check=True)
    assert output.stdout == "0 102"


def test_the_stripped_runner_loads_the_same_bytes_as_its_twin(host: Build) -> None:
    """readelf as the oracle of our own strip."""
    loaded = [line for line in readelf("-l", host.runner).splitlines() if "LOAD" in line]
    assert loaded
    twin_loaded = [line for line in readelf("-l", host.unstripped).splitlines() if "LOAD" in line]
    assert loaded == twin_loaded
    runner, twin = host.runner.read_bytes(), host.unstripped.read_bytes()
    for line in loaded:
        offset, size = (int(word, 16) for word in (line.split()[1], line.split()[4]))
        # The ELF header itself differs: it points to the table of sections.
        start = max(offset, 64)
        assert runner[start : offset + size] == twin[start : offset + size]
    assert ".symtab" in readelf("-S", host.unstripped)
    assert ".symtab" not in readelf("-S", host.runner)


def test_an_embedded_model_needs_no_file_beside_the_runner(tmp_path: Path) -> None:
    delivery = samples.tiny(tmp_path, "host", embed_model=True)
    assert delivery.model is None
    assert not list(delivery.output_dir.glob("*.ttm"))
    assert delivery.record["model"]["embedded"] is True
    assert samples.runs_relu(delivery, tmp_path)


def test_nothing_is_compiled_twice_and_one_operator_is_one_file(tmp_path: Path) -> None:
    samples.tiny(tmp_path, "host")
    progress = RecordedProgress()
    samples.tiny(tmp_path, "host", progress)
    assert progress.lines == []
    logs = (paths.cache() / "build").glob("host-generic-*-relu-*/build.log")
    log = max(logs, key=lambda path: path.stat().st_mtime_ns)
    assert "no work to do" in log.read_text().rpartition("\n$ ")[2]
    os.utime(paths.root() / "runtime/ops/relu.cpp")
    samples.tiny(tmp_path, "host", progress)
    assert progress.lines == ["build for host, profile relu", "compile"]
    last = log.read_text().rpartition("\n$ ")[2]
    assert len(re.findall(r"^\[\d+/\d+\] Building", last, re.MULTILINE)) == 1


def test_a_change_of_a_shared_schema_configures_again(tmp_path: Path) -> None:
    samples.tiny(tmp_path, "host")
    trees = (paths.cache() / "build").glob("host-generic-*-relu-*/build.ninja")
    text = max(trees, key=lambda path: path.stat().st_mtime_ns).read_text()
    (rule,) = re.findall(r"^build build\.ninja.*: RERUN_CMAKE (.*)", text, re.MULTILINE)
    assert "/source/runtime/ops/shared/epilogue.toml" in rule


def test_a_compiler_error_is_shown_with_its_log_and_nothing_is_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("ar", "binutils")  # which comes with compilers of the machine
    # A compiler that chokes on one file: the zig wrapper behind a script.
    zig = toolchain.cmake_file(toolchain.find_toolchain("host")).parent
    for name, driver in (("bad-c++", "c++"), ("bad-cc", "cc")):
        script, compiler = tmp_path / name, shlex.quote(str(zig / driver))
        script.write_text(
            '#!/bin/sh\ncase "$*" in *-c*runtime/ops/relu.cpp) '
            f"echo 'relu.cpp:1:2: error: boom' >&2; exit 1;; esac\nexec {compiler} \"$@\"\n"
        )
        script.chmod(0o755)
    monkeypatch.setenv("TRIMTAB_HOST_CXX", str(tmp_path / "bad-c++"))
    output = tmp_path / "out"
    output.mkdir()
    with pytest.raises(BuildError, match="error: boom") as caught:
        samples.tiny(tmp_path, "host")
    assert caught.value.exit_code == 23
    log = Path(caught.value.hint.partition("the full output is in ")[2])
    assert "relu.cpp:1:2: error: boom" in log.read_text()
    assert not list(output.iterdir())


def test_a_second_delivery_replaces_the_first(tmp_path: Path) -> None:
    first = samples.tiny(tmp_path, "host")
    assert first.model is not None
    second = samples.tiny(tmp_path, "host", model=None)
    assert second.output_dir == first.output_dir
    assert not list(second.output_dir.glob("*.ttm"))
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")], "no scratch is left"


def test_a_folder_with_foreign_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    delivery = samples.tiny(tmp_path, "host")
    note = delivery.output_dir / "notes.txt"
    note.write_text("mine")
    before = delivery.runner.stat().st_mtime_ns
    with pytest.raises(BuildError, match=r"is not from a build: notes\.txt"):
        samples.tiny(tmp_path, "host")
    assert note.read_text() == "mine"
    assert delivery.runner.stat().st_mtime_ns == before


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_is_reported_and_nothing_half_written_stays(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(small)], check=True)
    try:
        with pytest.raises(BuildError, match="No space left on device"):
            samples.tiny(tmp_path, "host", output_dir=small / "out")
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"profile": Path("no-such")}, ProfileError, "there is no profile"),
        ({"build_type": "Fast"}, UsageError, "unknown build type"),
        ({"embed_model": True}, UsageError, "no model to embed"),
        ({"model": Path("/nowhere.ttm")}, UsageError, "does not exist"),
        ({"output_dir": Path(__file__)}, BuildError, "not a folder"),
    ],
)
def test_impossible_requests_are_refused(
    options: dict[str, object], error: type[Exception], message: str, tmp_path: Path
) -> None:
    request = {"profile": find_profile("yolo"), "output_dir": tmp_path / "out", **options}
    with pytest.raises(error, match=message):
        build(BuildRequest(**request))  # type: ignore[arg-type]


def test_a_profile_that_lacks_what_an_operator_needs_fails_before_the_compiler(
    tmp_path: Path,
) -> None:
    broken = Profile("broken", ops=("relu",), kernels=("gemm_*",))
    with pytest.raises(ProfileError, match="broken"):
        build(BuildRequest(profile=broken, output_dir=tmp_path / "out"))


def test_the_engine_is_built_beside_the_package_and_stays_when_nothing_changed() -> None:
    path = host_build.build_engine()
    before = path.stat().st_mtime_ns
    assert path.parent == paths.root() / "trimtab"
    assert host_build.build_engine().stat().st_mtime_ns == before


def test_the_engine_carries_no_sanitizer_into_python() -> None:
    # zig adds a sanitizer to sources that are compiled without an optimization level.
    assert b"__ubsan" not in host_build.build_engine().read_bytes()
