"""Test cases of a plug-in's operators: inputs, and the outputs of an independent oracle.

A module in a plug-in's `tests/cases/` defines them as a list `CASES`, with odd sizes and every
attribute. `./inv plugin.test` runs them on this machine and on devices, like trimtab's own cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import plugins
from trimtab.errors import PluginError, TrimtabError
from trimtab.modelfile import Program
from trimtab.program.block import NUMPY_DTYPES

Array = NDArray[Any]


@dataclass(frozen=True)
class OperatorCase:
    """One operator with one set of operands.

    `inputs` are activations; `constants` (after them, in the order of the schema) are weights.
    `expected`: the outputs, as arrays or as a function of all operands and the attributes by name,
    which must not call trimtab. `rtol`, `atol`: tolerances of the results; `atol` is relative to
    the largest expected value.
    """

    op: str
    inputs: Sequence[Array]
    expected: Sequence[Array] | Callable[..., Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: Sequence[Array] = ()
    rtol: float = 1e-5
    atol: float = 1e-5

    def program(self, name: str) -> Program:
        """A program that consists of this operator only."""
        program = Program(name)
        operands = []
        for i, array in enumerate(self.inputs):
            dtype = _DTYPES[array.dtype.name]
            operands.append(program.add_input(f"in{i}", array.shape, dtype))
        for i, array in enumerate(self.constants):
            operands.append(program.block.add_constant(array, f"constant{i}", None))
        outputs = program.block.add_op(
            self.op, operands, dict(self.attributes), len(self.outputs()), self.op
        )
        program.outputs = list(outputs)
        return program

    def operands(self) -> dict[str, Array]:
        """The inputs by their names in the program."""
        return {f"in{i}": array for i, array in enumerate(self.inputs)}

    def outputs(self) -> list[Array]:
        """The expected outputs, in the order of the schema."""
        result = self.expected
        if callable(result):
            result = result(*self.inputs, *self.constants, **self.attributes)
        return [np.asarray(a) for a in (result if isinstance(result, list | tuple) else [result])]

    def mismatch(self, results: Sequence[Array]) -> str:
        """Describes how `results` differ from the expected outputs; "" if they do not."""
        for i, (actual, expected) in enumerate(zip(results, self.outputs(), strict=True)):
            if actual.shape != expected.shape:
                return f"output {i} is {list(actual.shape)}, expected {list(expected.shape)}"
            scale = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0)))
            close = np.isclose(actual, expected, self.rtol, self.atol * scale, equal_nan=True)
            if not close.all():
                at = tuple(int(n) for n in np.argwhere(~close)[0])
                share = f"{close.size - int(close.sum())} of {close.size} elements differ"
                values = f"{actual[at]}, expected {expected[at]}"
                return f"output {i}: {share}, the first at {at}: {values}"
        return ""


_DTYPES = {np.dtype(code).name: name for name, code in NUMPY_DTYPES.items()}


def reference_of(op: str) -> Callable[..., Any] | None:
    """The reference function of an operator, from the cases of the plug-ins: outputs of operands
    and attributes by name. None if they have only arrays.
    """
    for plugin, path in plugins.files_in("tests/cases"):
        for case in getattr(plugins.module(plugin, "tests/cases", path), "CASES", ()):
            if isinstance(case, OperatorCase) and case.op == op and callable(case.expected):
                return case.expected
    return None


def cases_of(plugin: plugins.Plugin) -> dict[str, OperatorCase]:
    """The cases of a plug-in by name; PluginError if it has none, or an entry is not a case."""
    cases: dict[str, OperatorCase] = {}
    for path in plugin.files("tests/cases"):
        module = plugins.module(plugin, "tests/cases", path)
        for i, case in enumerate(getattr(module, "CASES", ())):
            if not isinstance(case, OperatorCase):
                raise plugin.error(f"CASES[{i}] is not a trimtab.OperatorCase", path)
            try:
                case.outputs()
            except Exception as error:  # the oracle may raise anything
                if isinstance(error, TrimtabError):
                    raise
                what = f"the oracle of CASES[{i}] failed: {type(error).__name__}: {error}"
                raise plugin.error(what, plugins.source_line(plugin.folder, error)) from error
            cases[f"{path.stem}[{i}] {case.op}"] = case
    if not cases:
        raise PluginError(
            f"plug-in {plugin.name} has no cases",
            where=str(plugin.folder / "tests/cases"),
            hint="write a module with CASES = [OperatorCase(...)]: docs/plugins.md",
        )
    return cases
