"""Counts and sizes at their limits, on this machine and on a 32-bit one under QEMU.

The size of 2^30 floats is 0 in a 32-bit size_t, so unchecked arithmetic would wrap to a small size.
"""

from __future__ import annotations

import struct
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.build import samples
from trimtab import modelfile, paths
from trimtab.build import builder, toolchain
from trimtab.modelfile import records
from trimtab.program import MAX_ELEMENTS, Program
from trimtab.target import Target

pytestmark = pytest.mark.build

BAD_FILE, BAD_PROGRAM, BAD_ARGUMENT, MEMORY_LIMIT = 1, 3, 7, 9
SHAPE = (1, 2, 6, 6)
COPIES = 16
MACHINES = ["host", "armv7-linux-musleabihf"]
"""Toolchains with a size_t of 64 and of 32 bits."""


def copies() -> Program:
    """x -> x many times, one after the other: of 2^26 elements, 2^30."""
    program = Program("copies")
    program.add_input("x", SHAPE)
    program.outputs = program.block.add_op("concat", ["x"] * COPIES, {"axis": 0})
    return program


def outputs(count: int, shape: tuple[int, ...]) -> Program:
    """A program with `count` outputs of one input, all alive at the end."""
    program = Program("outputs")
    program.add_input("x", shape)
    for n in range(count):
        offset = program.block.add_constant(np.full((1,), n, np.float32), "offset")
        program.outputs += program.block.add_op("add", ["x", offset])
    return program


@cache
def caller(machine: str) -> Path:
    """The program in limits.c with a library that has what these models need."""
    samples.need(machine)
    profiles = [
        trimtab.profile_of(planned(delivery, machine)) for delivery in (copies(), outputs(1, SHAPE))
    ]
    folder = paths.cache() / "test-limits" / machine
    profile = profiles[0].union(profiles[1])
    delivery = builder.build(builder.BuildRequest(profile, folder / "library", machine))
    cc = toolchain.cmake_file(toolchain.find_toolchain(machine)).with_name("cc")
    source = Path(__file__).with_name("limits.c")
    # zig compiles a C library for each set of link flags: those of the runner.
    command = [str(cc), *delivery.record["flags"]["link"], f"-I{delivery.output_dir}", str(source)]
    command += [str(delivery.library), "-lm", "-pthread", "-o", str(folder / "limits")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # a link map
    return folder / "limits"


def check(
    machine: str, folder: Path, image: np.ndarray, shape: tuple[int, ...] = (), limit: int = 0
) -> dict[str, tuple[int, str]]:
    """The result of each step, as (code, message), when a model is opened there, resized if a
    shape is given, and run.
    """
    path = folder / "net.ttm"
    path.write_bytes(image.tobytes())
    emulator = toolchain.find_toolchain(machine).emulator
    start = [emulator.program] if emulator else []
    command = [*start, str(caller(machine)), str(path), str(limit)]
    done = subprocess.run(
        [*command, *map(str, shape)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    steps = (line.split(" ", 2) for line in done.stdout.splitlines())
    return {step: (int(code), message) for step, code, message in steps}


def planned(program: Program, machine: str) -> Program:
    return trimtab.optimize(program, Target.of(toolchain.find_toolchain(machine).arch))


def image_of(program: Program, machine: str) -> np.ndarray:
    return modelfile.encode(planned(program, machine))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_file_whose_variable_has_2_to_the_30_floats_is_refused(
    machine: str, tmp_path: Path
) -> None:
    image = image_of(copies(), machine)
    # The writer refuses such a shape: it is put into the input's record, under right checksums.
    at = records.TABLES_AT  # of the first variable, which is the input
    assert records.VAR.unpack_from(image.data, at)[:4] == SHAPE
    image[at : at + 16] = np.frombuffer(struct.pack("<4i", 1, 2, 1 << 14, 1 << 15), np.uint8)
    modelfile.seal(image)
    assert check(machine, tmp_path, image) == {
        "open": (BAD_FILE, "a variable is negative or too large (0)")
    }


@pytest.mark.parametrize("machine", MACHINES)
def test_a_file_with_a_flipped_bit_in_a_weight_is_refused(machine: str, tmp_path: Path) -> None:
    image = image_of(outputs(1, SHAPE), machine)
    assert check(machine, tmp_path, image)["run"] == (0, "")
    image[records.SEAL.unpack_from(image.data)[2]] ^= 1  # where the constants begin
    assert check(machine, tmp_path, image) == {
        "open": (BAD_FILE, "damaged file: the weights' checksum does not match")
    }


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("shape", "code", "message"),
    [
        ((1, 2, 1 << 14, 1 << 15), BAD_ARGUMENT, "bad dimensions"),
        ((1, 2, 1 << 12, 1 << 13), BAD_PROGRAM, "too large"),  # 2^26 elements: its result has 2^30
    ],
)
def test_a_resize_to_2_to_the_30_floats_is_refused_and_the_model_still_runs(
    machine: str, shape: tuple[int, ...], code: int, message: str, tmp_path: Path
) -> None:
    steps = check(machine, tmp_path, image_of(copies(), machine), shape)
    assert steps["open"] == steps["run"] == (0, "")
    assert steps["resize"][0] == code
    assert message in steps["resize"][1]


@pytest.mark.parametrize("machine", MACHINES)
def test_an_arena_of_2_to_the_32_bytes_is_refused(machine: str, tmp_path: Path) -> None:
    """Each tensor may be so large, but not all of them: their sum is 0 to 32 bits."""
    image = image_of(outputs(8, (1, 2, MAX_ELEMENTS >> 14, 1 << 13)), machine)
    limit = (1 << 31) - 1 + (8 * image.size if machine == "host" else 0)
    assert check(machine, tmp_path, image) == {
        "open": (
            MEMORY_LIMIT,
            f"the model needs more memory than allowed (bytes, limit) ({1 << 32}, {limit})",
        )
    }


@pytest.mark.parametrize("machine", MACHINES)
def test_a_limit_above_2_gib_counts_where_addresses_have_64_bits(
    machine: str, tmp_path: Path
) -> None:
    needed = 5 << 29
    limit = needed - 1 if machine == "host" else (1 << 31) - 1
    message = "the model needs more memory than allowed (bytes, limit)"
    program = outputs(5, (1, 2, MAX_ELEMENTS >> 14, 1 << 13))
    assert check(machine, tmp_path, image_of(program, machine), limit=needed - 1) == {
        "open": (MEMORY_LIMIT, f"{message} ({needed}, {limit})")
    }


@pytest.mark.slow
def test_an_arena_above_2_gib_runs_if_the_caller_allows_it(tmp_path: Path) -> None:
    program = outputs(5, (1, 2, MAX_ELEMENTS >> 14, 1 << 13))
    steps = check("host", tmp_path, image_of(program, "host"), limit=5 << 29)
    assert steps == {"open": (0, ""), "run": (0, "")}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_model_takes_no_more_memory_than_the_caller_allows(machine: str, tmp_path: Path) -> None:
    image = image_of(outputs(4, (1, 2, 64, 64)), machine)
    needed = 4 * 2 * 64 * 64 * 4
    assert check(machine, tmp_path, image, limit=needed)["run"] == (0, "")
    message = "the model needs more memory than allowed (bytes, limit)"
    refused = check(machine, tmp_path, image, limit=needed - 1)
    assert refused == {"open": (MEMORY_LIMIT, f"{message} ({needed}, {needed - 1})")}
    # A resize keeps to it, too, and one that fails changes nothing.
    steps = check(machine, tmp_path, image, (1, 2, 64, 65), limit=needed)
    assert steps["resize"][0] == MEMORY_LIMIT
    assert steps["run"] == (0, "")
    assert check(machine, tmp_path, image, (1, 2, 63, 64), limit=needed)["run"] == (0, "")
