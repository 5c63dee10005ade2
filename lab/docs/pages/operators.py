"""The reference of operators, from their schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lab.docs.generator import reference
from trimtab import schema
from trimtab.schema import Attribute, Operator, Port
from trimtab.tables import Column, Markup, Page, Table


@reference("Operators of the engine")
def operators() -> Page:
    """An index and one section per operator, by name."""
    schemas = [schema.operators()[name] for name in sorted(schema.operators())]
    names = ", ".join(f"[{op.name}](#{op.name})" for op in schemas)
    return [
        f"{len(schemas)} operators: {names}.",
        *(part for op in schemas for part in _section(op)),
    ]


def _section(op: Operator) -> Iterator[str | Table]:
    yield from (f"## {op.name}", op.doc, f"{'; '.join(_facts(op))}.")
    yield Table(
        [Column(""), Column("name"), Column(""), Column("meaning")],
        [
            *(_row("input", port.name, _traits(port), port.doc) for port in op.inputs),
            *(_row("output", port.name, _traits(port), port.doc) for port in op.outputs),
            *(_row(_kind(a), a.name, _values(a), _with_unit(a)) for a in op.attributes),
        ],
    )


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
    if op.onnx:
        yield f"ONNX `{op.onnx}`"
    if op.table:
        yield "int8 networks compute it by a lookup table"
    if op.quantized_as:
        yield f"int8 networks compute it as `{op.quantized_as}`"
    if op.depends:
        yield f"needs {', '.join(op.depends)}"


def _row(kind: str, name: str, what: Iterable[str], meaning: str) -> tuple[str, ...]:
    return kind, Markup(f"`{name}`"), Markup(", ".join(what)), Markup(meaning)


def _traits(port: Port) -> Iterator[str]:
    for trait in ("constant", "optional", "index", "strided", "in_place"):
        if getattr(port, trait):
            yield trait.replace("_", " ")
    if port.variadic:
        yield "any number"


def _kind(attribute: Attribute) -> str:
    return "plan" if attribute.plan else "attribute"


def _values(attribute: Attribute) -> Iterator[str]:
    """Type, range and default; the allowed families of a kernel."""
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
    if attribute.range:
        yield f"{attribute.range[0]} to {attribute.range[1]}"
    if attribute.default is not None and not attribute.plan:
        yield f"default {_shown(attribute.default)}"


def _shown(default: object) -> str:
    if isinstance(default, tuple):
        return f"[{', '.join(map(str, default))}]"
    if isinstance(default, bool):
        return str(default).lower()
    return str(default) or "none"


def _with_unit(attribute: Attribute) -> str:
    return f"{attribute.doc} ({attribute.unit})" if attribute.unit else attribute.doc
