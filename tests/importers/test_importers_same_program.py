"""A network becomes the same program from every format.

Programs are compared operator for operator: types, attributes, operands with their shapes and
dtypes, and the values of constants; names differ between formats. Most formats give the same
program directly after `trimtab.load`. A format with other layers, such as Caffe's normalization
(BatchNorm and Scale), gives the same program after `trimtab.optimize`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.same_network import FORMATS, Description, write
from tests.ops.cases.case import Array
from tests.some import some
from trimtab.program import Program
from trimtab.zoo.builder import INPUT
from trimtab.zoo.networks import mobilenet_v2, squeezenet


def _adaptive(size: int) -> Callable[[Description, str], None]:
    """A network that pools 12 x 12 pixels to `size` x `size`, then to one."""

    def build(net: Description, x: str) -> None:
        x = net.conv_bn(x, 8, 3, 2)
        x = net.adaptive_pool(x, (size, size), (12, 12))
        x = net.conv_bn(x, 16)
        x = net.adaptive_pool(x, (1, 1), (size, size))
        net.output(net.linear(net.rows(x), 5), "output")

    return build


def _forms(net: Description, x: str) -> None:
    """A network whose padding, bounds and inferred sizes have different forms in the formats."""
    x = net.same_conv(net.conv(x, 8, 3, 2), 4)
    x = net.max_pool(net.rest(x, 2), 2, 2)
    net.output(net.rows(net.doubled(x)), "output")


Build = Callable[[Any, str], None]
SHAPE = (1, 3, 23, 23)
ALL = tuple(FORMATS)

NETWORKS: dict[str, tuple[Build, tuple[int, ...], tuple[str, ...]]] = {
    "squeezenet": (squeezenet.build, squeezenet.INPUT_SHAPE, ALL),
    "mobilenet_v2": (mobilenet_v2.build, mobilenet_v2.INPUT_SHAPE, ALL),
    "adaptive_pool": (_adaptive(6), SHAPE, ALL),
    "irregular_adaptive_pool": (_adaptive(5), SHAPE, ("ncnn", "pnnx", "paddle")),
    "forms": (_forms, SHAPE, ("onnx", "ncnn", "pnnx", "paddle")),
}

# Equal only after optimization, because Caffe has other layers.
LATER = {("mobilenet_v2", "caffe"), ("adaptive_pool", "caffe")}


@pytest.fixture(scope="module", params=NETWORKS)
def programs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, Program]]:
    """The name of a network, and its programs by format."""
    build, shape, formats = NETWORKS[request.param]
    net = Description(shape)
    build(net, INPUT)
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, {f: trimtab.load(write(net, f, folder / f)) for f in formats}


def _described(program: Program) -> tuple[list[str], list[Array]]:
    """A line per operator without names, and the values of constants."""
    places = {name: f"input {i}" for i, name in enumerate(program.inputs)}
    constants: list[Array] = []
    lines = []

    def operand(name: str) -> str:
        if not name:
            return "(none)"
        var = program.vars[name]
        if var.data is not None:
            constants.append(var.data)
        return f"{places.get(name, 'constant')}: {var.dtype}{list(var.shape)}"

    for i, op in enumerate(program.ops):
        read = ", ".join(map(operand, op.inputs))
        places |= {name: f"{i}.{j}" for j, name in enumerate(op.outputs)}
        written = ", ".join(map(operand, op.outputs))
        lines.append(f"{op.type}({read}) -> {written}  {sorted(op.attributes.items())}")
    return [*lines, f"out {list(map(operand, program.outputs))}"], constants


def _check_same(a: Program, b: Program, what: str) -> None:
    (lines, constants), (others, values) = _described(a), _described(b)
    assert lines == others, what
    assert len(constants) == len(values)
    for x, y in zip(constants, values, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6, err_msg=what)


def test_a_network_is_the_same_program_from_every_format_that_can_express_it(
    programs: tuple[str, dict[str, Program]],
) -> None:
    name, loaded = programs
    first, *others = (form for form in loaded if (name, form) not in LATER)
    for form in some(others):
        _check_same(loaded[first], loaded[form], f"{name}: {first}, {form}")


def test_a_network_is_the_same_optimized_program_from_every_format(
    programs: tuple[str, dict[str, Program]],
) -> None:
    name, loaded = programs
    optimized = {form: trimtab.optimize(program) for form, program in loaded.items()}
    first, *others = optimized
    for form in some(others):
        _check_same(optimized[first], optimized[form], f"{name}: {first}, {form}")
