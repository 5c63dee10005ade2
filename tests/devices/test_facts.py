"""The parsers of a device's facts and of the counting plug-in's log."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import cores
from trimtab.devices import InstructionCounts, Mark, facts, icount, shell
from trimtab.errors import EmulatorError

# A Rock Pi 4 (RK3399), one core of each cluster, as the script prints it.
RK3399 = """machine=aarch64
kernel=Linux 6.1.75
boot_id=0d2f6d1e-7b6c-4a51-9d0f-2f4b7f0a3a10
processor\t: 0
CPU implementer\t: 0x41
CPU part\t: 0xd03
processor\t: 1
CPU implementer\t: 0x41
CPU part\t: 0xd08
MemTotal:        3978012 kB
governor=schedutil
khz=1416000
governor=schedutil
khz=1800000
zone=cpu-thermal 51111
zone=gpu-thermal 62000
"""


def test_reads_a_big_little_board() -> None:
    info = facts.parse(RK3399)
    assert info.cpu == "cortex-a53+cortex-a72"
    assert info.cpu_count == 2
    assert info.memory_bytes == 3978012 * 1024
    assert info.governor == "schedutil"
    assert info.frequencies_mhz == (1416.0, 1800.0)
    assert info.temperature_celsius == 51.111
    assert not info.is_emulated


def test_missing_facts_are_unknown_and_not_an_error() -> None:
    info = facts.parse("")
    assert info.cpu is None
    assert info.cpu_count is None
    assert info.memory_bytes is None
    assert info.temperature_celsius is None
    assert info.frequencies_mhz == ()


def test_an_unknown_arm_core_keeps_its_numbers() -> None:
    info = facts.parse("CPU implementer=0x51\nCPU part=0xfff\nCPU implementer=?\nCPU part=0xd03")
    assert info.cpu == "arm_0x51_0xfff+arm_?_0xd03"


@pytest.mark.parametrize(
    ("implementer", "part"), [midr for c in cores.all_cores() for midr in c.midr]
)
def test_every_core_with_a_midr_is_called_by_its_name(implementer: int, part: int) -> None:
    info = facts.parse(f"CPU implementer={implementer:#x}\nCPU part={part:#x}\n")
    assert cores.find(info.cpu).midr.count((implementer, part)) == 1


def test_a_qemu_machine_is_recognized_without_the_definition() -> None:
    assert facts.parse("emulator=qemu").is_emulated


@given(st.text())
def test_no_text_makes_the_parser_fail(text: str) -> None:
    facts.parse(text)
    facts.parse("\n".join(f"{key}={text}" for key in ("MemTotal", "khz", "zone", "processor")))


WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(st.lists(WORDS, min_size=1, max_size=5), WORDS)
def test_a_shell_reads_exactly_the_words_that_were_quoted(words: list[str], value: str) -> None:
    text = shell.quote(["cmd", *words], {"KEY": value}, "/some where")
    assert shlex.split(text)[-len(words) - 1 :] == ["cmd", *words]


def test_a_real_shell_agrees() -> None:
    words = ["a b", "$x", "'", "\n", "*", "\\", "`id`", ""]
    text = shell.quote(["printf", "%s|", *words], {"x": "1"}, "/")
    result = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=True)
    assert result.stdout == "".join(f"{word}|" for word in words)


def test_reads_the_log_of_the_counting_plug_in() -> None:
    counts = icount.parse_log("3 0 749\n4 0 6869\nend 0 13370\n")
    assert counts == InstructionCounts((Mark(3, 0, 749), Mark(4, 0, 6869)), 13370)


def test_a_log_without_an_end_has_no_total() -> None:
    assert icount.parse_log("3 0 749\n").total is None


@pytest.mark.parametrize("line", ["3 0", "3 0 x", "qemu: warning: something", "3 0 -1", "x 0 1"])
def test_a_strange_log_line_is_an_error(line: str) -> None:
    with pytest.raises(EmulatorError, match="unexpected line"):
        icount.parse_log(line)
