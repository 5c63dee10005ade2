"""States in a program in C: what onnxruntime computes whose caller keeps them, until a reset."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import trimtab
from tests.build import samples
from tests.importers import streams
from tests.importers.test_states import expected, frames
from trimtab import modelfile
from trimtab.build import builder, toolchain
from trimtab.build.builder import BuildRequest
from trimtab.program import Program
from trimtab.target import Target

pytestmark = pytest.mark.build

MACHINES = ["host", "armv7-linux-musleabihf"]
BAD_ARGUMENT = 7


def streamed(program: Program, machine: str, folder: Path, *data: NDArray[np.generic]) -> list[str]:
    """The lines of states.c with the library of this program."""
    samples.need(machine)
    planned = trimtab.optimize(program, Target.of(toolchain.find_toolchain(machine).arch))
    modelfile.write(planned, folder / "net.ttm")
    profile = trimtab.profile_of(planned)
    request = BuildRequest(profile, folder / "library", machine, keeps_states=True)
    delivery = builder.build(request)
    cc = toolchain.cmake_file(toolchain.find_toolchain(machine)).with_name("cc")
    source = Path(__file__).with_name("states.c")
    command = [str(cc), *delivery.record["flags"]["link"], f"-I{delivery.output_dir}", str(source)]
    command += [str(delivery.library), "-lm", "-pthread", "-o", str(folder / "states")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (folder / "frames").write_bytes(b"".join(frame.tobytes() for frame in data))
    emulator = toolchain.find_toolchain(machine).emulator
    start = [emulator.program] if emulator else []
    done = subprocess.run(
        [*start, *map(str, (folder / "states", folder / "net.ttm", folder / "frames", len(data)))],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("machine", MACHINES)
def test_a_program_in_c_streams_frame_by_frame_until_it_resets_the_model(
    machine: str, tmp_path: Path
) -> None:
    model = streams.recurrent()
    lines = streamed(trimtab.load(model, streams.STATES), machine, tmp_path, *frames())
    want = [*expected(model)]
    assert [line for line in lines if line.startswith("reset")] == ["reset 0 "] * 2
    runs = [np.array(line.split()[1:], np.float32) for line in lines if line.startswith("run")]
    for actual, frame in zip(runs, [*want, *want, want[0]], strict=True):
        np.testing.assert_allclose(actual, frame.reshape(-1), atol=1e-6)


def test_a_reset_of_a_model_without_states_is_refused(tmp_path: Path) -> None:
    program = Program("squares")
    program.add_input("x", (2, 3))
    program.outputs = program.block.add_op("mul", ["x", "x"])
    x = np.arange(6, dtype=np.float32)
    lines = streamed(program, "host", tmp_path, x)
    assert lines[0] == f"reset {BAD_ARGUMENT} the model keeps no states"
    assert lines[1] == "run 0 1 4 9 16 25"
