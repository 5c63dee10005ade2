"""Reads one operator schema; docs/adding-an-operator.md describes the TOML format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from trimtab import paths
from trimtab.errors import SchemaError
from trimtab.schema.model import (
    ATTRIBUTE_TYPES,
    DTYPES,
    FIELD_TYPES,
    KINDS,
    LAYOUTS,
    SIZE_SOURCES,
    SPECIALIZED_TYPES,
    Attribute,
    Macs,
    Operator,
    Port,
)
from trimtab.toml_table import TomlFile

BLOCKS = ("attributes", "plan")  # the TOML tables that hold attributes


def _attributes(
    file: TomlFile,
    table: dict[str, Any],
    key: str,
    *,
    plan: bool = False,
    types: tuple[str, ...] = ATTRIBUTE_TYPES,
) -> list[Attribute]:
    attributes, where = [], str(file.path)
    for name, row in table.items():
        place, keys = f"{key}.{name}", dict(row)
        inner = keys.pop("fields", {})
        fields = tuple(_attributes(file, inner, f"{place}.fields", types=FIELD_TYPES))
        if isinstance(keys.get("default"), list):
            keys["default"] = tuple(keys["default"])
        attribute = file.record(Attribute, keys, key=place, name=name, plan=plan, fields=fields)
        if attribute.type not in types:
            raise SchemaError(
                f"attribute {name} has unknown type {attribute.type!r}",
                where=where,
                hint=f"use one of {', '.join(types)}",
            )
        if (attribute.type == "records") != bool(fields):
            raise SchemaError(
                f"attribute {name}: only an attribute of type records has fields, and it needs one",
                where=where,
                hint=f"write [attributes.{name}.fields.FIELD] for each field of a record",
            )
        if problem := _range_problem(attribute):
            raise SchemaError(f"attribute {name} {problem}", where=where, hint=_RANGE_HINT)
        if attribute.specialized and (plan or attribute.type not in SPECIALIZED_TYPES):
            raise SchemaError(
                f"attribute {name} cannot be specialized",
                where=where,
                hint=f"only attributes of type {', '.join(SPECIALIZED_TYPES)} can be",
            )
        attributes.append(attribute)
    return attributes


_RANGE_HINT = "range = [min, max] of an int, 0 <= min <= 255, max <= 65535"


def _range_problem(attribute: Attribute) -> str:
    """The error in the attribute's range; "" if it has none."""
    if not attribute.range:
        numeric = attribute.plan and attribute.type == "int"
        return "is an int of the plan and needs a range" if numeric else ""
    if attribute.type != "int" or len(attribute.range) != 2:
        return "`range` must be [min, max] of an int"
    low, high = attribute.range
    if not (0 <= low <= 255 and low <= high <= 65535):
        return "has a range that the engine cannot check"
    inside = attribute.default is None or low <= attribute.default <= high
    return "" if inside else "has a default outside its range"


def _file(path: Path) -> TomlFile:
    return TomlFile(path, SchemaError, hint="docs/adding-an-operator.md describes the keys")


@cache
def _shared_table(path: Path, changed_ns: int) -> Mapping[str, Any]:
    """The content of a shared file, which many schemas include; to read only."""
    return _file(path).table


def _include(table: dict[str, Any], path: Path) -> None:
    """Merges the shared files that the schema of `path` includes into its `table`.

    The operator's own attributes come first, then those of the files in the order of `include`.
    "prefix:file" includes only the attributes, with the prefix before their names. A key that
    occurs twice is an error.
    """
    folders = (path.parent / "shared", paths.root() / "runtime" / "ops" / "shared")
    for include in table.pop("include", []):
        prefix, _, name = include.rpartition(":")
        candidates = (folder / f"{name}.toml" for folder in folders)
        if (file := next((f for f in candidates if f.is_file()), None)) is None:
            names = sorted(f.stem for folder in folders for f in folder.glob("*.toml"))
            raise SchemaError(
                f"includes {name!r}, which is not a file of runtime/ops/shared/",
                where=str(path),
                hint=f"the files are: {', '.join(names) or 'none'}",
            )
        shared = _shared_table(file, file.stat().st_mtime_ns)
        blocks = [
            (
                table.setdefault(key, {}),
                {prefix + k: v for k, v in shared.get(key, {}).items()},
            )
            for key in BLOCKS
        ]
        rest = {} if prefix else {k: v for k, v in shared.items() if k not in BLOCKS}
        for own, added in [*blocks, (table, rest)]:
            if twice := sorted(own.keys() & added.keys()):
                raise SchemaError(
                    f"repeats keys of runtime/ops/shared/{name}.toml: {', '.join(twice)}",
                    where=str(path),
                    hint="remove them here, or do not include the file",
                )
            own.update(added)


def _macs(text: str, ports: set[str], where: str) -> Macs | None:
    """Parses "y * w[1:]" (elements of y, times the dimensions of w from the second on) or a sum of
    such products.
    """
    terms = []
    for term in text.split(" + ") if text else ():
        factors = [re.fullmatch(r"(\w+)(?:\[(-?\d*):(-?\d*)\])?", f) for f in term.split(" * ")]
        valid = [match for match in factors if match and match[1] in ports]
        if len(valid) < max(len(factors), 2):
            raise SchemaError(
                f"cannot parse macs = {text!r}",
                where=where,
                hint='write "y * w[1:]", with names of inputs or outputs',
            )
        ends = [
            (match[1], [int(end) if end else None for end in match.group(2, 3)]) for match in valid
        ]
        terms.append(tuple((name, slice(*end)) for name, end in ends))
    return Macs(tuple(terms)) if terms else None


def _trait_problem(op: Operator) -> str:
    """The first trait that contradicts the rest of the schema; "" if there is none."""
    names = {a.name for a in op.attributes}
    parameters = {a.name for a in op.attributes if not a.plan}
    if op.kind not in KINDS:
        return f"kind = {op.kind!r} is not one of {', '.join(KINDS[1:])}"
    if op.activation and not parameters <= {"alpha", "beta"}:
        return "a unary operator has no attributes but alpha and beta"
    if op.kind in ("unary", "binary") and len(op.inputs) != 1 + (op.kind == "binary"):
        return f"a {op.kind} operator has {1 + (op.kind == 'binary')} inputs"
    if op.table and op.kind != "unary":
        return "only a unary operator can be computed by a table"
    if any(p.sizes and (p.sizes not in SIZE_SOURCES[1:] or not p.optional) for p in op.inputs):
        return f"sizes of an input must be {' or '.join(SIZE_SOURCES[1:])}, and the input optional"
    if op.moves_if and op.kind != "movement":
        return 'moves_if needs kind = "movement"'
    used = {key for row in op.moves_if for key in row} | {b for b in op.clamp if isinstance(b, str)}
    used |= {op.slope} - {"", *(p.name for p in op.inputs)}
    if unknown := sorted(used - names):
        return f"a trait names unknown attributes: {', '.join(unknown)}"
    if len(op.clamp) not in (0, 2) or len(op.result_range) not in (0, 2):
        return "clamp and result_range are [lower, upper]"
    return ""


def read_operator(path: Path, id: int | None = None) -> Operator:
    """Reads one schema file; `id` is used if the file has none.

    SchemaError names the file and the error.
    """
    where, file = str(path), _file(path)
    table = file.table
    if id is not None:
        table.setdefault("id", id)
    _include(table, path)
    is_unary = table.get("kind") == "unary"
    if is_unary:
        table = {"activation": True, "table": True, **table}
    if "outputs" not in table:
        raise file.error("`outputs` is missing")
    inputs, outputs = (
        file.value(tuple[Port, ...], table.pop(key, []), key) for key in ("inputs", "outputs")
    )
    operator = file.record(
        Operator,
        table,
        macs=_macs(table.pop("macs", ""), {p.name for p in (*inputs, *outputs)}, where),
        attributes=tuple(
            _attributes(file, table.pop("attributes", {}), "attributes")
            + _attributes(file, table.pop("plan", {}), "plan", plan=True)
        ),
        name=path.stem,
        inputs=inputs,
        outputs=outputs,
        path=path,
    )
    if unknown := set(operator.dtypes) - set(DTYPES):
        raise SchemaError(
            f"unknown dtypes {sorted(unknown)}", where=where, hint=f"use {', '.join(DTYPES)}"
        )
    if operator.layout not in LAYOUTS:
        raise SchemaError(
            f"unknown layout {operator.layout!r}",
            where=where,
            hint=f"use one of {', '.join(LAYOUTS)}",
        )
    if problem := _trait_problem(operator):
        raise SchemaError(problem, where=where, hint="docs/adding-an-operator.md lists the traits")
    return operator
