"""States: inputs of a network that it computes itself for its next run (docs/states.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.program import Program
from trimtab.program import states as program_states
from trimtab.program.block import NUMPY_DTYPES

States = Mapping[str, str]
"""The output with the next value of each state, by the input's name."""


def keep(program: Program, states: States, where: str) -> None:
    """Replaces the inputs `states` of a program by states that begin with zeros.

    The outputs with their next values are removed, unless the program has no other output.
    ImportModelError if there is no such input or output, or if their shapes or types differ.
    """
    for name, output in states.items():
        _check(program, name, output, where)
        var = program.vars.pop(name)
        program.inputs.remove(name)
        program.input_ranges = {n: r for n, r in program.input_ranges.items() if n != name}
        program_states.add(program, np.zeros(var.shape, NUMPY_DTYPES[var.dtype]), name)
    program.outputs = [n for n in program.outputs if n not in states.values()] or program.outputs
    program_states.replace(program, states)


def _check(program: Program, name: str, output: str, where: str) -> None:
    for kind, one, names in (
        ("input", name, program.inputs),
        ("output", output, program.outputs),
    ):
        if one not in names:
            raise ImportModelError(
                f"there is no {kind} {one!r} for a state",
                where=where,
                hint=f"its {kind}s are: {', '.join(names)}",
            )
    state, value = program.vars[name], program.vars[output]
    if (state.shape, state.dtype) != (value.shape, value.dtype):
        raise ImportModelError(
            f"the state {name!r} is {state.dtype}{list(state.shape)}, its next value {output!r} is "
            f"{value.dtype}{list(value.shape)}",
            where=where,
            hint="give shapes of inputs for which they are equal",
        )
