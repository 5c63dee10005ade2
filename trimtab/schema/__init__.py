"""Operator schemas: names, inputs, outputs, attributes and traits of all operators.

`runtime/ops/<op>.toml` is the single source of truth for an operator, and only this package reads
it. The engine's generated tables (`trimtab.build.codegen`), importers, passes, exporters and the
model file use these dataclasses. Files of `runtime/ops/shared/` hold keys that several schemas
include. docs/adding-an-operator.md describes the TOML format.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

from trimtab import paths, plugins
from trimtab.errors import SchemaError
from trimtab.schema.model import (
    DTYPES,
    END_DTYPES,
    FIRST_PLUGIN_ID,
    MAX_CONSTANT,
    SIZE_SOURCES,
    Attribute,
    Macs,
    Operator,
    Port,
    name_hash,
    sha256,
)
from trimtab.schema.reading import read_operator
from trimtab.schema.retired import RETIRED

__all__ = [
    "DTYPES",
    "END_DTYPES",
    "MAX_CONSTANT",
    "RETIRED",
    "SIZE_SOURCES",
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
    """All operators by name, in ascending order of their permanent, unique ids."""
    by_name: dict[str, Operator] = {}
    for path in sorted((paths.root() / "runtime" / "ops").glob("*.toml")):
        _add(by_name, read_operator(path))
    for plugin in plugins.active():
        with plugins.isolated(plugin):
            extended = dict(by_name)
            for path in plugin.files("ops"):
                _add(extended, read_plugin_operator(path))
            by_name = extended
    return dict(sorted(by_name.items(), key=lambda item: item[1].id))


def _add(by_name: dict[str, Operator], op: Operator) -> None:
    """Adds an operator, or replaces the one that its `replaces` names."""
    other = by_name.get(op.replaces or op.name)
    if op.replaces and (other is None or op.name != op.replaces):
        raise SchemaError(
            f"replaces = {op.replaces!r} does not name another operator {op.name}",
            where=str(op.path),
            hint="replaces = NAME belongs into NAME.toml, for an existing operator NAME",
        )
    if other is not None and not op.replaces:
        raise SchemaError(
            f"operator {op.name} already exists in {other.path}",
            where=str(op.path),
            hint=f'choose another name; or write replaces = "{op.name}" to replace it',
        )
    if other is not None and other.schema_hash != op.schema_hash:
        raise SchemaError(
            f"replaces {op.name}, but its inputs, outputs or attributes differ",
            where=str(op.path),
            hint=f"the passes and the planner rely on those of {other.path}",
        )
    if other is None and (same := next((o for o in by_name.values() if o.id == op.id), None)):
        raise SchemaError(
            f"operator {op.name} has the id {op.id} of {same.name} in {same.path}",
            where=str(op.path),
            hint="ids are permanent: give the newer operator another id",
        )
    if retired := RETIRED.get(op.id):
        raise SchemaError(
            f"operator {op.name} has the id {op.id} of the retired operator {retired}",
            where=str(op.path),
            hint="ids are permanent: give it another id",
        )
    missing = [name for name in op.depends if name not in by_name]
    if missing := sorted(n for n in missing if not op.path.with_name(f"{n}.toml").is_file()):
        raise SchemaError(f"depends on unknown operators {missing}", where=str(op.path))
    by_name[op.name] = op


def read_plugin_operator(path: Path) -> Operator:
    """Reads the operator of a plug-in; its id defaults to a hash of its name."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem):
        raise SchemaError(
            "an operator's name must be in snake_case",
            where=str(path),
            hint="rename the file, such as my_op.toml, and its .cpp",
        )
    default_id = FIRST_PLUGIN_ID | name_hash(path.stem) & 0x7FFF
    op = read_operator(path, default_id)
    has_source = path.with_suffix(".cpp").is_file()
    if op.run_time == has_source and not op.is_generated:
        hint = "write the source that computes it: docs/adding-an-operator.md"
        if op.run_time:
            hint = "an operator with a source is compiled in: remove run_time = true"
        problem = "has a source" if op.run_time else "has no source"
        raise SchemaError(f"the operator {problem}, {path.stem}.cpp", where=str(path), hint=hint)
    if op.run_time and (problem := _run_time_problem(op, default_id)):
        hint = "docs/run-time-plugins.md lists what a shared library can declare"
        raise SchemaError(f"an operator at run time {problem}", where=str(path), hint=hint)
    if op.replaces:
        built_in = paths.root() / "runtime" / "ops" / path.name
        return replace(op, id=read_operator(built_in).id) if built_in.is_file() else op
    if not FIRST_PLUGIN_ID <= op.id <= 0xFFFF:
        hint = f"remove `id`, or choose one from {FIRST_PLUGIN_ID} to {0xFFFF}"
        raise SchemaError(
            f"id {op.id} is outside the range of plug-ins", where=str(path), hint=hint
        )
    return op


_RUN_TIME_TYPES = ("int", "float", "bool", "ints", "floats")
_RUN_TIME_PORT = {"name", "doc", "optional", "constant", "variadic"}
_RUN_TIME_OPERATOR = {
    *("name", "id", "doc", "layout", "dtypes", "inputs", "outputs", "attributes", "macs"),
    *("run_time", "path"),
}


def _run_time_problem(op: Operator, default_id: int) -> str:
    """The first property of a schema that operators at run time do not support; "" if none."""

    def unsupported(row: object, supported: set[str]) -> list[str]:
        return [f.name for f in fields(row) if f.name not in supported and _is_set(row, f.name)]  # type: ignore[arg-type]

    if op.id != default_id:
        return "must have the id that follows from its name"
    if op.layout not in ("plain", "nhwc"):
        return 'must have layout = "plain" or "nhwc"'
    if names := unsupported(op, _RUN_TIME_OPERATOR):
        return f"cannot have {names[0]}"
    for port in (*op.inputs, *op.outputs):
        if names := unsupported(port, _RUN_TIME_PORT):
            return f"cannot have an operand with {names[0]} ({port.name})"
    for a in op.attributes:
        if a.type not in _RUN_TIME_TYPES or a.plan or a.range or a.length:
            return f"can only have attributes of the types {', '.join(_RUN_TIME_TYPES)} ({a.name})"
    return ""


def _is_set(row: object, name: str) -> bool:
    value = getattr(row, name)
    return value is not None and bool(value)


def operator(name: str) -> Operator:
    """The schema of one operator; SchemaError if there is none of that name."""
    try:
        return operators()[name]
    except KeyError:
        raise SchemaError(
            f"there is no operator {name!r}", hint="runtime/ops/ holds one TOML file per operator"
        ) from None


@cache
def schema_hash() -> int:
    """64-bit hash of the schemas of all compiled operators, which identifies an engine version."""
    compiled = (op for op in operators().values() if not op.run_time)
    hashes = b"".join(op.schema_hash.to_bytes(4, "little") for op in compiled)
    return int.from_bytes(sha256(hashes)[:8], "little")
