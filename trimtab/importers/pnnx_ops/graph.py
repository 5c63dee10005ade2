"""The operators of a .pnnx.param file with their parameters.

Format: https://github.com/Tencent/ncnn/blob/master/tools/pnnx/README.md, "The pnnx.param format".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from trimtab.errors import ModelFileError
from trimtab.importers._param_text import Dialect, ParamLine, rows

_DIALECT = Dialect("a PNNX network", "operators", "operands", ".pnnx.param", exact=True)

Static = None | bool | int | float | str | list["Static"]
"""The value of a parameter, or of a constant operand that is not a tensor."""

_CONVERT_AGAIN = "copy or convert the network again"

_SHAPE = re.compile(r"\(([0-9?,%a-z_]*)\)([a-z0-9]+)?")
_INTEGER = re.compile(r"-?[0-9]+")
_REAL = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|-?inf|nan")


@dataclass(frozen=True)
class TensorText:
    """The shape (None: free) and the element type of a tensor in the file."""

    shape: tuple[int | None, ...]
    dtype: str


@dataclass
class OperatorText:
    """The line of an operator. `keys` maps keys to operands, `attributes` are weights in the
    archive, `shapes` are the declared tensors of operands.
    """

    type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    line: int
    where: str
    params: dict[str, Static] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, TensorText] = field(default_factory=dict)
    shapes: dict[str, TensorText] = field(default_factory=dict)


def parse(text: str, path: str) -> list[OperatorText]:
    """The operators of a .pnnx.param file; ModelFileError names the line of a syntax error."""
    return [_operator(row, path) for row in rows(text, path, _DIALECT)]


def _operator(row: ParamLine, path: str) -> OperatorText:
    where = f"{path}:{row.number}: operator '{row.name}' ({row.type})"
    result = OperatorText(row.type, row.name, row.inputs, row.outputs, row.number, where)
    for word in row.arguments.split():
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise ModelFileError(
                f"expected name=value, not '{word[:40]}'", where=where, hint=_CONVERT_AGAIN
            )
        if key[0] == "@":
            result.attributes[key[1:]] = _tensor(value, where)
        elif key[0] == "#":
            result.shapes[key[1:]] = _tensor(value, where)
        elif key[0] == "$":
            result.keys[key[1:]] = value
        else:
            # An expression may look like a list.
            result.params[key] = value if key == "expr" else _static(value)
    return result


def _tensor(text: str, where: str) -> TensorText:
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ModelFileError(
            f"expected a shape such as (1,3)f32, not '{text[:40]}'",
            where=where,
            hint=_CONVERT_AGAIN,
        )
    sizes = [size for size in match[1].split(",") if size]
    shape = tuple(int(size) if size.isdecimal() else None for size in sizes)
    return TensorText(shape, match[2] or "f32")


def _static(text: str) -> Static:
    if text[:1] in ("(", "["):
        inside = text[1:-1]
        return [_static(part) for part in inside.split(",")] if inside else []
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text
