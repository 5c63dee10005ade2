"""Removes operators and variables that no output depends on.

Runs first: later passes count readers, and remove their own dead code.
"""

from __future__ import annotations

from trimtab.program import Program

ORDER = 10


def run(program: Program) -> None:
    """One backward sweep: an operator is live if one of its results is, or if it checks inputs."""
    live = set(program.outputs)
    live_ops = []
    for op in reversed(program.ops):
        if op.schema.checks or live.intersection(op.outputs):
            live.update(name for name in op.inputs if name)
            live_ops.append(op)
    program.block.ops[:] = reversed(live_ops)
    live.update(out for op in live_ops for out in op.outputs)
    live.update(program.inputs)
    program.block.vars = {n: var for n, var in program.vars.items() if n in live}
