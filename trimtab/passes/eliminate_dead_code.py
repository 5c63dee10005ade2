"""Removes operators whose results nobody reads, and variables that nobody knows.

Runs first: later passes ask who reads a result, and leave no dead code behind themselves.
"""

from __future__ import annotations

from trimtab.program import Program

ORDER = 10


def run(program: Program) -> None:
    """One sweep from the back: an operator is needed when one of its results is."""
    needed = set(program.outputs)
    kept = []
    for op in reversed(program.ops):
        if needed.intersection(op.outputs):
            needed.update(name for name in op.inputs if name)
            kept.append(op)
    program.block.ops[:] = reversed(kept)
    needed.update(out for op in kept for out in op.outputs)
    needed.update(program.inputs)
    program.block.vars = {n: var for n, var in program.vars.items() if n in needed}
