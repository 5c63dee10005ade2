"""Operator schemas: what every operator is called, takes, gives and needs.

`runtime/ops/<op>.toml` is the one source of truth for an operator; this package is the only one
that reads it. The engine's generated tables (`trimtab.build.codegen`), the importers, the passes
and the model file all work from these dataclasses. What several operators have alike stands once,
in `runtime/ops/shared/`. docs/adding-an-operator.md has the TOML format.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

from trimtab import paths, plugins
from trimtab.errors import SchemaError
from trimtab.schema.model import DTYPES, Attribute, Macs, Operator, Port, name_hash, sha256
from trimtab.schema.reading import read_operator

__all__ = [
    "DTYPES",
    "Attribute",
    "Macs",
    "Operator",
    "Port",
    "name_hash",
    "operator",
    "operators",
    "read_operator",
    "read_plugin_operator",
    "schema_hash",
]


@cache
def operators() -> dict[str, Operator]:
    """All operators by name, in the order of their ids; ids are permanent and unique."""
    found: dict[str, Operator] = {}
    for path in sorted((paths.root() / "runtime" / "ops").glob("*.toml")):
        _add(found, read_operator(path))
    for plugin in plugins.active():
        with plugins.isolated(plugin):
            more = dict(found)
            for path in plugin.files("ops"):
                _add(more, read_plugin_operator(path))
            found = more
    return dict(sorted(found.items(), key=lambda item: item[1].id))


def _add(found: dict[str, Operator], op: Operator) -> None:
    """Adds an operator to those that there are, or puts it in the place of the one that it
    replaces.
    """
    other = found.get(op.replaces or op.name)
    if op.replaces and (other is None or op.name != op.replaces):
        raise SchemaError(
            f"replaces = {op.replaces!r}, which is no other operator of its name",
            where=str(op.path),
            hint="replaces = NAME stands in NAME.toml, of an operator that there is",
        )
    if other is not None and not op.replaces:
        raise SchemaError(
            f"there is an operator {op.name} in {other.path}",
            where=str(op.path),
            hint=f'call it otherwise; or write replaces = "{op.name}" to take its place',
        )
    if other is not None and other.schema_hash != op.schema_hash:
        raise SchemaError(
            f"replaces {op.name}, but has other inputs, outputs or attributes",
            where=str(op.path),
            hint=f"the passes and the planner know those of {other.path}",
        )
    if other is None and (same := next((o for o in found.values() if o.id == op.id), None)):
        raise SchemaError(
            f"operator {op.name} has id {op.id}, as {same.name} in {same.path}",
            where=str(op.path),
            hint="ids are permanent: give the newer one another id",
        )
    beside = {path.stem for path in op.path.parent.glob("*.toml")}
    if missing := {*op.depends} - found.keys() - beside:
        raise SchemaError(f"depends on unknown operators {sorted(missing)}", where=str(op.path))
    found[op.name] = op


_FIRST_PLUGIN_ID = 0x8000


def read_plugin_operator(path: Path) -> Operator:
    """The operator of a plug-in, whose id, where it has none of its own, is made of its name."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem):
        raise SchemaError("an operator's name is in snake_case", where=str(path))
    own = _FIRST_PLUGIN_ID | name_hash(path.stem) & 0x7FFF
    op = read_operator(path, own)
    if op.run_time == path.with_suffix(".cpp").is_file():
        hint = "it computes the operator: docs/adding-an-operator.md"
        if op.run_time:
            hint = "it is compiled in: leave out run_time = true"
        there_is = "there is a" if op.run_time else "there is no"
        raise SchemaError(f"{there_is} {path.stem}.cpp beside it", where=str(path), hint=hint)
    if op.run_time and (problem := _run_time_problem(op, own)):
        hint = "what a shared library can say: docs/run-time-plugins.md"
        raise SchemaError(f"an operator at run time {problem}", where=str(path), hint=hint)
    if op.replaces:
        built_in = paths.root() / "runtime" / "ops" / path.name
        return replace(op, id=read_operator(built_in).id) if built_in.is_file() else op
    if not _FIRST_PLUGIN_ID <= op.id <= 0xFFFF:
        hint = f"leave `id` out, or take one of {_FIRST_PLUGIN_ID} to {0xFFFF}"
        raise SchemaError(f"id {op.id} is not one of a plug-in's", where=str(path), hint=hint)
    return op


_RUN_TIME_TYPES = ("int", "float", "bool", "ints", "floats")
_RUN_TIME_PORT = {"name", "doc", "optional", "constant", "variadic"}
_RUN_TIME_OPERATOR = {
    *("name", "id", "doc", "layout", "dtypes", "inputs", "outputs", "attributes", "macs"),
    *("run_time", "path"),
}


def _run_time_problem(op: Operator, own_id: int) -> str:
    """What an operator's schema says that none at run time can; "" if all is well."""

    def said(row: object, known: set[str]) -> list[str]:
        return [f.name for f in fields(row) if f.name not in known and getattr(row, f.name)]  # type: ignore[arg-type]

    if op.id != own_id:
        return "has the id that its name gives it"
    if op.layout not in ("plain", "nhwc"):
        return 'has layout = "plain" or "nhwc"'
    if more := said(op, _RUN_TIME_OPERATOR):
        return f"has no {more[0]}"
    for port in (*op.inputs, *op.outputs):
        if more := said(port, _RUN_TIME_PORT):
            return f"has no {more[0]} operand ({port.name})"
    for a in op.attributes:
        if a.type not in _RUN_TIME_TYPES or a.plan or a.range or a.length:
            return f"has attributes of the types {', '.join(_RUN_TIME_TYPES)} alone ({a.name})"
    return ""


def operator(name: str) -> Operator:
    """The schema of one operator; SchemaError when there is none of that name."""
    try:
        return operators()[name]
    except KeyError:
        raise SchemaError(
            f"there is no operator {name!r}", hint="runtime/ops/ holds one TOML file per operator"
        ) from None


@cache
def schema_hash() -> int:
    """64 bits over the schemas of all operators that are compiled in: tells one version of the
    engine from another.
    """
    compiled = (op for op in operators().values() if not op.run_time)
    hashes = b"".join(op.schema_hash.to_bytes(4, "little") for op in compiled)
    return int.from_bytes(sha256(hashes)[:8], "little")
