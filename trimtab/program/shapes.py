"""Shape inference by the engine's own rules, through its bindings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimtab import schema
from trimtab.engine import EngineError, engine
from trimtab.errors import PluginError, ProgramError
from trimtab.program import attributes

_MISSING_OP = 4  # TRIMTAB_MISSING_OP of runtime/api/trimtab.h
_DTYPE_NAMES = {number: name for name, number in schema.DTYPES.items()}


def infer(
    op: schema.Operator,
    inputs: Sequence[tuple[tuple[int, ...], str] | None],
    values: dict[str, Any],
    output_count: int,
    where: str = "",
) -> list[tuple[tuple[int, ...], str]]:
    """(shape, dtype) of each output of `op`, from those of its inputs (None: absent) and its
    complete attributes.

    ProgramError with the engine's reason if the operands violate the operator's rules.
    """
    operands = [None if i is None else (list(i[0]), schema.DTYPES[i[1]]) for i in inputs]
    try:
        results = engine().infer_shapes(
            op.id, operands, attributes.encode(op, values), output_count
        )
    except EngineError as e:
        if op.run_time and e.args[0] == _MISSING_OP:
            raise PluginError(
                f"nothing in this process computes the operator {op.name}",
                where=where,
                hint="load its shared library for this machine, --plugin libNAME.so or "
                f'trimtab.load_plugin; or register a function: @trimtab.operator("{op.name}")',
            ) from None
        shapes = ", ".join("-" if i is None else f"{i[1]}{list(i[0])}" for i in inputs)
        raise ProgramError(
            f"{e.args[1]}; operands: {shapes}",
            where=where,
            hint=f"docs/operators.md leads to the operands of {op.name}",
        ) from None
    return [(tuple(shape), _DTYPE_NAMES[dtype]) for shape, dtype in results]
