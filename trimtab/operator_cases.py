"""Cases of a plug-in's operators: what goes in, and what an independent oracle says comes out.

A module of a plug-in's `tests/cases/` has a list `CASES` of them, with odd sizes and every
attribute. `./inv plugin.test` runs them here and on devices, as trimtab's own operators are run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import plugins
from trimtab.errors import PluginError, TrimtabError
from trimtab.program import Program
from trimtab.program.program import NUMPY_DTYPES

Array = NDArray[Any]


@dataclass(frozen=True)
class OperatorCase:
    """One operator on one set of operands.

    `inputs` are computed by the network, `constants` (behind them, in the order of the schema) are
    weights. `expected` says the outputs, as arrays or as a function of all operands and the
    attributes by name, which must not be trimtab's own code. `rtol`, `atol`: how near the results
    must be; `atol` is relative to the largest expected value.
    """

    op: str
    inputs: Sequence[Array]
    expected: Sequence[Array] | Callable[..., Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: Sequence[Array] = ()
    rtol: float = 1e-5
    atol: float = 1e-5

    def program(self, name: str) -> Program:
        """A program of this operator alone."""
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
        """The inputs by the names that the program has for them."""
        return {f"in{i}": array for i, array in enumerate(self.inputs)}

    def outputs(self) -> list[Array]:
        """What the oracle says, in the order of the schema's outputs."""
        found = self.expected
        if callable(found):
            found = found(*self.inputs, *self.constants, **self.attributes)
        return [np.asarray(a) for a in (found if isinstance(found, list | tuple) else [found])]

    def wrong(self, results: Sequence[Array]) -> str:
        """How `results` differ from what is expected; "" where they agree."""
        for i, (got, want) in enumerate(zip(results, self.outputs(), strict=True)):
            if got.shape != want.shape:
                return f"output {i} is {list(got.shape)}, expected {list(want.shape)}"
            scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
            close = np.isclose(got, want, self.rtol, self.atol * scale, equal_nan=True)
            if not close.all():
                at = tuple(int(n) for n in np.argwhere(~close)[0])
                share = f"{close.size - int(close.sum())} of {close.size} elements differ"
                return (
                    f"output {i}: {share} differ, the first at {at}: {got[at]}, expected {want[at]}"
                )
        return ""


_DTYPES = {np.dtype(code).name: name for name, code in NUMPY_DTYPES.items()}


def cases_of(plugin: plugins.Plugin) -> dict[str, OperatorCase]:
    """The cases of a plug-in by their names; PluginError when it has none, or what is none."""
    found: dict[str, OperatorCase] = {}
    for path in plugin.files("tests/cases"):
        module = plugins.module(plugin, "tests/cases", path)
        for i, case in enumerate(getattr(module, "CASES", ())):
            if not isinstance(case, OperatorCase):
                raise plugin.error(f"CASES[{i}] is no trimtab.OperatorCase", path)
            try:
                case.outputs()
            except Exception as error:  # whatever the oracle does
                if isinstance(error, TrimtabError):
                    raise
                what = f"the oracle of CASES[{i}] failed: {type(error).__name__}: {error}"
                raise plugin.error(what, plugins.source_line(plugin.folder, error)) from error
            found[f"{path.stem}[{i}] {case.op}"] = case
    if not found:
        raise PluginError(
            f"plug-in {plugin.name}: it has no cases",
            where=str(plugin.folder / "tests/cases"),
            hint="write a module with CASES = [OperatorCase(...)]: docs/plugins.md",
        )
    return found
