"""docs/operators.md, which is what the schemas say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from trimtab import paths, schema
from trimtab.schema import Attribute, Operator, Port

_HEAD = """\
# Operators of the engine

Written by `./inv docs` from `runtime/ops/*.toml`: change those. [importers.md](importers.md) has
the operators of model formats, [adding-an-operator.md](adding-an-operator.md) the way to a new one.

Dimensions are logical: n, c, h, w, whatever the memory order. *Layout* is the memory order of 4-D
operands: `nhwc`, `plain` (row-major), `any` (all operands alike), `converts` (they may differ). A
*constant* operand is known when the model is planned, an *optional* one may be absent, an *index*
is i32 or i64, and a *strided* one may be a part of a larger image ([parts](planner.md#parts)). What
stands under *plan* the planner decides for a target.
"""


def path() -> Path:
    """Where the page lies in a checkout."""
    return paths.root() / "docs" / "operators.md"


def text() -> str:
    """The page, operators by name."""
    operators = [schema.operators()[name] for name in sorted(schema.operators())]
    names = ", ".join(f"[{op.name}](#{op.name})" for op in operators)
    return "\n".join([_HEAD, f"{len(operators)} operators: {names}.\n", *map(_section, operators)])


def _section(op: Operator) -> str:
    rows = [
        *(_row("input", port.name, _traits(port), port.doc) for port in op.inputs),
        *(_row("output", port.name, _traits(port), port.doc) for port in op.outputs),
        *(_row(_kind(a), a.name, _values(a), _with_unit(a)) for a in op.attributes),
    ]
    table = "\n".join(["| | name | | meaning |", "|---|---|---|---|", *rows])
    return f"## {op.name}\n\n{op.doc}\n\n{'; '.join(_facts(op))}.\n\n{table}\n"


def _facts(op: Operator) -> Iterator[str]:
    yield f"Id {op.id}"
    yield f"element types {', '.join(op.dtypes)}"
    yield f"layout `{op.layout}`"
    if op.activation:
        yield "can be fused into others as their activation"
    if op.fuses_activation:
        yield "takes an activation" + (" and a residual" if op.fuses_residual else "")
    if op.view:
        yield "the result is the input's memory"
    if op.depends:
        yield f"needs {', '.join(op.depends)}"


def _row(kind: str, name: str, what: Iterable[str], meaning: str) -> str:
    cells = (kind, f"`{name}`", ", ".join(what), meaning)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _traits(port: Port) -> Iterator[str]:
    for trait in ("constant", "optional", "index", "strided"):
        if getattr(port, trait):
            yield trait
    if port.variadic:
        yield "any number"


def _kind(attribute: Attribute) -> str:
    return "plan" if attribute.plan else "attribute"


def _values(attribute: Attribute) -> Iterator[str]:
    """Type and default; of a kernel, the families that it may be of."""
    if attribute.type == "kernel":
        families = (
            "any activation" if f == "@activation" else f"`{f}`" for f in attribute.families
        )
        yield " or ".join(families)
        if attribute.optional:
            yield "optional"
        return
    if attribute.type == "enum":
        yield " or ".join(f"`{value}`" for value in attribute.values)
    else:
        yield f"{attribute.length} {attribute.type}" if attribute.length else attribute.type
    if attribute.default is not None:
        yield f"default {_shown(attribute.default)}"


def _shown(default: object) -> str:
    if isinstance(default, tuple):
        return f"[{', '.join(map(str, default))}]"
    if isinstance(default, bool):
        return str(default).lower()
    return str(default) or "none"


def _with_unit(attribute: Attribute) -> str:
    return f"{attribute.doc} ({attribute.unit})" if attribute.unit else attribute.doc
