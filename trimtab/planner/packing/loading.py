"""Constants of a planned program in its file, and the cost of expanding them when it is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from trimtab.planner.packing import coding
from trimtab.program import Program

# Executed instructions for each weight, beside f32: of loads of SqueezeNet's 1.23 million weights
# on a Cortex-A53 (`./inv bench.instructions squeezenet --weights int8`).
_INSTRUCTIONS = {"f16": 0.8, "int8": 1.6} | dict.fromkeys(coding.FORMS, 13.1)


@dataclass(frozen=True)
class StoredConstants:
    """The constants that one operator is the first to read: their bytes in the file, the form of
    the largest one ("f32", "f16", "int8", "bits4", ...; "" without constants), and about how many
    instructions expand them at load.
    """

    form: str = ""
    bytes: int = 0
    instructions: int = 0


def stored_constants(planned: Program) -> Iterator[StoredConstants]:
    """Yields the constants of each of the `steps` of a planned program."""
    makers = {op.outputs[0]: op for op in planned.ops if op.schema.prepares}
    counted = set[str]()
    for op in planned.steps:
        forms: list[tuple[int, str]] = []
        instructions = 0.0
        for name in op.inputs:
            maker = makers.get(name)
            var = planned.vars[maker.inputs[0] if maker else name] if name else None
            if var is None or var.data is None or var.name in counted:
                continue
            counted.add(var.name)
            form = {"i8": "int8"}.get(var.dtype, var.dtype)
            if maker and form == "u8":
                form = f"bits{maker.attributes['bits']}"
            forms.append((var.bytes, form))
            if planned.vars[name].dtype in ("f32", "f16") and form in _INSTRUCTIONS and maker:
                is_expanded = var.dtype != planned.vars[name].dtype
                instructions += is_expanded * _INSTRUCTIONS[form] * prod(planned.vars[name].shape)
        _, form = max(forms, default=(0, ""))
        yield StoredConstants(form, sum(size for size, _ in forms), round(instructions))
