"""Programs on a device, with a runner that doubles its input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.bench import fakes
from trimtab.devices import Device
from trimtab.errors import RunnerError
from trimtab.pipeline.remote import RemoteRunner
from trimtab.program import Program
from trimtab.target import Target


def network() -> Program:
    program = Program("relu")
    program.outputs = program.block.add_op("relu", [program.add_input("x", (1, 2, 3, 4))])
    return program


def test_the_elements_of_an_input_are_pushed_in_order_and_those_of_the_output_pulled(
    device: Device, tmp_path: Path
) -> None:
    runner = RemoteRunner(device, str(fakes.write_runner(tmp_path)), Target.host())
    x = np.arange(24, dtype=np.float32).reshape(1, 4, 3, 2).transpose(0, 3, 2, 1)
    program = network()
    outputs = runner.compute(program, {"x": x}, tmp_path)
    assert outputs.keys() == {*program.outputs}
    np.testing.assert_array_equal(outputs[program.outputs[0]], 2 * x)


def test_what_the_runner_reports_is_raised(device: Device, tmp_path: Path) -> None:
    fault = 'say("error", code=3, message="no memory"); sys.exit(3)'
    runner = RemoteRunner(device, str(fakes.write_runner(tmp_path, fault)), Target.host())
    with pytest.raises(RunnerError, match="no memory"):
        runner.compute(network(), {"x": np.zeros((1, 2, 3, 4), np.float32)}, tmp_path)


def test_an_output_has_the_shape_that_the_runner_tells(device: Device, tmp_path: Path) -> None:
    fault = "told = {0: [4, 6]}"
    runner = RemoteRunner(device, str(fakes.write_runner(tmp_path, fault)), Target.host())
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    program = network()
    outputs = runner.compute(program, {"x": x}, tmp_path)
    np.testing.assert_array_equal(outputs[program.outputs[0]], 2 * x.reshape(4, 6))


def test_a_shape_that_is_not_of_the_output_is_an_error(device: Device, tmp_path: Path) -> None:
    fault = "told = {0: [4, 5]}"
    runner = RemoteRunner(device, str(fakes.write_runner(tmp_path, fault)), Target.host())
    with pytest.raises(RunnerError, match="has '96' bytes, not at most 80"):
        runner.compute(network(), {"x": np.zeros((1, 2, 3, 4), np.float32)}, tmp_path)
