"""The size report against readelf, nm and size: other people's readers of the same files."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.build import samples
from tests.devices.conftest import require
from trimtab import size, tables
from trimtab.build.builder import Build
from trimtab.errors import BinaryFileError
from trimtab.size import SizeReport

pytestmark = pytest.mark.build

# lld and 64 bits, lld and Thumb, GNU ld, and position-independent code.
TOOLCHAINS = ("aarch64-linux-musl", "armv7-linux-musleabihf", "aarch64-linux-gnu", "host")


def output_of(*command: str | Path) -> str:
    require(str(command[0]), "binutils")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module", params=TOOLCHAINS)
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Build:
    samples.need(request.param)
    return samples.tiny(tmp_path_factory.mktemp("size"), request.param)


@pytest.fixture(scope="module")
def report(build: Build) -> SizeReport:
    return size.measure(build.output_dir)


def test_sections_are_those_of_readelf_and_sum_to_the_file(
    build: Build, report: SizeReport
) -> None:
    text = output_of("readelf", "-SW", build.runner)
    rows = re.findall(r"\] (\.\S+)\s+(\S+)\s+[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", text)
    theirs = {name: int(size, 16) for name, kind, size in rows if kind != "NOBITS"}
    ours = {name: n for name, n in report.sections.items() if name.startswith(".")}
    assert ours == {name: n for name, n in theirs.items() if n}
    assert sum(report.sections.values()) == build.runner.stat().st_size
    text = output_of("readelf", "-hW", build.runner)
    numbers = re.findall(r"(?:Size|Number) of .+?: +(\d+)", text)
    own, program, program_count, section, section_count = map(int, numbers)
    tables = own + program * program_count + section * section_count
    assert 0 <= report.sections["(headers)"] - tables < 16  # aligned


def test_every_byte_has_an_owner(build: Build, report: SizeReport) -> None:
    assert sum(report.groups.values()) == report.file_bytes == build.runner.stat().st_size
    assert report.groups.get("unattributed", 0) == 0
    assert report.total("op") == report.groups["op:relu"] > 0
    assert report.total("core") > 5000
    kernels = {g for g in report.groups if g.startswith("kernel:")}
    assert kernels == {f"kernel:{name}" for name in build.record["kernels"]}


def test_memory_is_that_of_the_program_size(build: Build, report: SizeReport) -> None:
    columns = output_of("size", build.runner).splitlines()[1].split()
    assert report.memory_bytes == int(columns[3])


def test_symbols_have_the_size_and_the_object_that_nm_reports(
    build: Build, report: SizeReport
) -> None:
    """A symbol that only one member of libtrimtab.a defines must be credited to that member."""
    members: dict[str, set[str]] = {}
    for line in output_of("nm", "-A", "-C", "--defined-only", build.library).splitlines():
        # Not W: of inline functions the linker may keep the copy of another object.
        if match := re.match(r".*:(\w+)\.cpp\.o:\S+ [TtRrDd] (.+)", line):
            members.setdefault(match[2], set()).add(match[1])
    sizes = dict[str, list[int]]()
    for line in output_of("nm", "-S", "-C", build.unstripped).splitlines():
        if match := re.match(r"[0-9a-f]+ ([0-9a-f]+) \w (.+)", line):
            sizes.setdefault(match[2], []).append(int(match[1], 16))
    checked = 0
    for symbol in report.symbols:
        if symbol.name in sizes:
            assert symbol.bytes in sizes[symbol.name]
        # The C library, too, has OUTLINED_FUNCTION_1.
        alone = len(sizes.get(symbol.name, [])) == 1
        if alone and len(owners := members.get(symbol.name, set())) == 1:
            (stem,) = owners
            kind, _, name = symbol.group.partition(":")
            assert name == stem if name else kind in ("core", "api", "tables")
            checked += 1
    assert checked > 15


def test_without_its_map_a_binary_still_has_sections(build: Build, tmp_path: Path) -> None:
    copy = tmp_path / "some-program"
    copy.write_bytes(build.runner.read_bytes())
    alone = size.measure(copy)
    assert alone.sections == size.measure(build.output_dir).sections
    assert set(alone.groups) <= {"unattributed", "elf", "padding"}
    assert sum(alone.groups.values()) == alone.file_bytes
    assert alone.symbols == ()


def test_an_unstripped_copy_of_another_build_is_refused(build: Build, tmp_path: Path) -> None:
    other = samples.tiny(tmp_path, "x86_64-linux-musl")
    with pytest.raises(BinaryFileError, match="not the unstripped copy"):
        size.measure(build.runner, unstripped=other.unstripped)


def test_an_embedded_model_is_accounted_for(tmp_path: Path) -> None:
    build = samples.tiny(tmp_path, "aarch64-linux-musl", embed_model=True)
    report = size.measure(build.runner)
    # A zero byte marks its end.
    assert report.groups["model"] == (tmp_path / "relu.ttm").stat().st_size + 1


def test_a_report_becomes_json_and_a_table(report: SizeReport) -> None:
    value = json.loads(json.dumps(report.to_json()))
    assert value["file_bytes"] == sum(value["groups"].values())
    text = tables.text(size.tables([report, report], symbols=3))
    assert re.search(r"^relu .*1\.00$", text, re.MULTILINE)
    assert f"{report.file_bytes:,}" in text


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"#!/bin/sh\n" * 100, b"\x7fELF" + b"\xff" * 99]
)
def test_a_file_that_is_no_elf_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(BinaryFileError) as caught:
        size.measure(path)
    assert caught.value.where == str(path)
    assert caught.value.exit_code == 25


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BinaryFileError, match="No such file"):
        size.measure(tmp_path / "nothing")


def test_a_missing_build_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(BinaryFileError, match="cannot read the file") as caught:
        size.measure(tmp_path / "nope")
    assert caught.value.where == str(tmp_path / "nope")
    assert caught.value.hint == "name a binary, or a folder that ./inv build has made"
