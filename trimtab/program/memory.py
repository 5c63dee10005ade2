"""How much memory the computed tensors of a program need."""

from __future__ import annotations

from itertools import accumulate

from trimtab.program.program import Program


def activation_bytes(program: Program) -> int:
    """Largest sum of the bytes of computed tensors alive at one operator; views and parts share the
    memory of what they show.
    """
    shown: dict[str, str] = {}

    def home(name: str) -> str:
        whole = program.vars[name].parent or name
        return shown.get(whole, whole)

    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for i, op in enumerate(program.ops):
        if op.schema.view:
            shown[op.outputs[0]] = home(op.inputs[0])
        for name in op.outputs:
            first.setdefault(home(name), i)
        for name in (*op.inputs, *op.outputs):
            if name:
                last[home(name)] = i
    for name in program.outputs:
        last[home(name)] = len(program.ops)
    change = [0] * (len(program.ops) + 2)
    for name, i in first.items():
        if program.vars[name].data is None and name not in program.inputs:
            change[i] += program.vars[name].bytes
            change[last[name] + 1] -= program.vars[name].bytes
    return max(accumulate(change))
