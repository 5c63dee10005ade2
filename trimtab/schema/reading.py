"""Reads the schema of an operator: docs/adding-an-operator.md has the TOML format."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from trimtab import paths
from trimtab.errors import SchemaError
from trimtab.schema.model import (
    ATTRIBUTE_TYPES,
    DTYPES,
    FIELD_TYPES,
    LAYOUTS,
    Attribute,
    Macs,
    Operator,
    Port,
)

BLOCKS = ("attributes", "plan")  # tables of attributes


def _attributes(
    table: dict[str, Any], plan: bool, where: str, types: tuple[str, ...] = ATTRIBUTE_TYPES
) -> list[Attribute]:
    result = []
    for name, row in table.items():
        keys: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
        fields = tuple(_attributes(keys.pop("fields", {}), False, where, FIELD_TYPES))
        try:
            attribute = Attribute(name=name, plan=plan, fields=fields, **keys)
        except TypeError as e:
            raise SchemaError(f"attribute {name}: {e}", where=where) from None
        if attribute.type not in types:
            raise SchemaError(
                f"attribute {name} has unknown type {attribute.type!r}",
                where=where,
                hint=f"use one of {', '.join(types)}",
            )
        if (attribute.type == "records") != bool(fields):
            raise SchemaError(
                f"attribute {name}: records have fields, and nothing else has",
                where=where,
                hint=f"write [attributes.{name}.fields.FIELD] for each field of a record",
            )
        if problem := _range_problem(attribute):
            raise SchemaError(f"attribute {name} {problem}", where=where, hint=_RANGE_HINT)
        result.append(attribute)
    return result


_RANGE_HINT = "range = [least, most] of an int, 0 <= least <= 255, most <= 65535"


def _range_problem(attribute: Attribute) -> str:
    """What is wrong with the range of an attribute, or that a plan's number has none; "" if all is
    well.
    """
    if not attribute.range:
        numeric = attribute.plan and attribute.type == "int"
        return "of a plan needs a range" if numeric else ""
    if attribute.type != "int" or len(attribute.range) != 2:
        return "has a range that is none"
    least, most = attribute.range
    if not (0 <= least <= 255 and least <= most <= 65535):
        return "has a range that the engine cannot check"
    inside = attribute.default is None or least <= attribute.default <= most
    return "" if inside else "has a default outside its range"


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise SchemaError(str(e), where=str(path)) from None


def _include(table: dict[str, Any], path: Path) -> None:
    """Adds to `table`, the schema of `path`, what the files of shared/ that it includes say.

    An operator's own attributes come first, then theirs, in the order of `include`. "prefix:file"
    takes a file's attributes alone, with the prefix before their names. Nothing may be said twice.
    """
    places = (paths.root() / "runtime" / "ops" / "shared", path.parent / "shared")
    files = {f.stem: f for folder in places for f in sorted(folder.glob("*.toml"))}
    for include in table.pop("include", []):
        prefix, _, name = include.rpartition(":")
        if name not in files:
            raise SchemaError(
                f"includes {name!r}, which runtime/ops/shared/ does not have",
                where=str(path),
                hint=f"it has: {', '.join(files) or 'none'}",
            )
        shared = _toml(files[name])
        theirs = [{prefix + k: v for k, v in shared.pop(key, {}).items()} for key in BLOCKS]
        blocks = [
            (table.setdefault(key, {}), block) for key, block in zip(BLOCKS, theirs, strict=True)
        ]
        shared = {} if prefix else shared
        for own, added in [*blocks, (table, shared)]:
            if twice := sorted(own.keys() & added.keys()):
                raise SchemaError(
                    f"says again what runtime/ops/shared/{name}.toml says: {', '.join(twice)}",
                    where=str(path),
                    hint="drop it here, or do not include the file",
                )
            own.update(added)


def _macs(text: str, ports: set[str], where: str) -> Macs | None:
    """What is written as "y * w[1:]": elements of y, times dimensions of w from the second on; or a
    sum of such products.
    """
    terms = []
    for term in text.split(" + ") if text else ():
        factors = [re.fullmatch(r"(\w+)(?:\[(-?\d*):(-?\d*)\])?", f) for f in term.split(" * ")]
        found = [match for match in factors if match and match[1] in ports]
        if len(found) < max(len(factors), 2):
            raise SchemaError(
                f"cannot read macs = {text!r}",
                where=where,
                hint='write "y * w[1:]", with names of inputs or outputs',
            )
        ends = [
            (match[1], [int(end) if end else None for end in match.group(2, 3)]) for match in found
        ]
        terms.append(tuple((name, slice(*end)) for name, end in ends))
    return Macs(tuple(terms)) if terms else None


def read_operator(path: Path, id: int | None = None) -> Operator:
    """Reads one schema file, which may do without an `id` where one is given; SchemaError names the
    file and what is wrong with it.
    """
    where = str(path)
    table = _toml(path)
    if id is not None:
        table.setdefault("id", id)
    _include(table, path)
    try:
        inputs = tuple(Port(**row) for row in table.pop("inputs", []))
        outputs = tuple(Port(**row) for row in table.pop("outputs"))
        operator = Operator(
            name=path.stem,
            dtypes=tuple(table.pop("dtypes")),
            inputs=inputs,
            outputs=outputs,
            macs=_macs(table.pop("macs", ""), {p.name for p in (*inputs, *outputs)}, where),
            attributes=tuple(
                _attributes(table.pop("attributes", {}), False, where)
                + _attributes(table.pop("plan", {}), True, where)
            ),
            depends=tuple(table.pop("depends", [])),
            path=path,
            **table,
        )
    except (KeyError, TypeError) as e:
        raise SchemaError(f"bad or missing key: {e}", where=where) from None
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
    return operator
