"""The row of a fitted core: a file as in `cores/`, which goes before the row that ships."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import tomli_w

from trimtab import cores
from trimtab.cores import Cache, Core

_UNKNOWN = "fitted"


def to_toml(core: Core, title: str) -> str:
    """The text of `core`, below `title` as a comment. It reads as an equal core."""
    table: dict[str, Any] = {"doc": core.doc}
    if core.compiler != core.name:
        table["compiler"] = core.compiler
    if core.qemu:
        table["qemu"] = core.qemu
    if core.midr:
        table["midr"] = [list(pair) for pair in core.midr]
    if core.cpuid:
        models = [list(pair) for pair in core.cpuid.models]
        table["cpuid"] = {**asdict(core.cpuid), "models": models}
    for level in ("l1i", "l1d", "l2", "l3"):
        cache: Cache | None = getattr(core, level)
        if cache:
            table[level] = asdict(cache)
    if core.sum_cost is not None:
        table["sum_cost"] = core.sum_cost
    table["features"] = {arch: sorted(names) for arch, names in core.features.items()}
    table["pipes"] = asdict(core.pipes)
    if core.llvm_mca:
        table["llvm_mca"] = {k: v for k, v in _plain(core.llvm_mca).items() if v}
    if core.memory:
        table["memory"] = {k: v for k, v in asdict(core.memory).items() if v is not None}
    if core.fit:
        rows = [{k: v for k, v in asdict(row).items() if v != 0.0} for row in core.fit.kernels]
        table["fit"] = {**_plain(core.fit), "kernels": rows}
    comment = "".join(f"# {line}\n" for line in title.splitlines())
    return comment + tomli_w.dumps(table)


def identified(core: Core, cpuinfo: str) -> Core:
    """A core for a machine that no row knows, with what its /proc/cpuinfo says of it; `core` itself
    if it is not generic, or the text says nothing.
    """
    if not core.is_generic:
        return core

    def value(key: str) -> str:
        match = re.search(rf"^{key}[ \t]*:[ \t]*(.+)$", cpuinfo, flags=re.MULTILINE)
        return match[1].strip() if match else ""

    ids: Mapping[str, Any] = {}
    vendor, family, model = value("vendor_id"), value("cpu family"), value("model")
    implementer, part = value("CPU implementer"), value("CPU part")
    if vendor and family.isdigit() and model.isdigit():
        name = f"{_UNKNOWN}-{vendor}-{family}-{model}"
        ids = {"cpuid": cores.Cpuid(vendor, int(family), ((int(model), int(model)),))}
    elif implementer and part:
        name = f"{_UNKNOWN}-{implementer}-{part}"
        ids = {"midr": ((int(implementer, 16), int(part, 16)),)}
    else:
        return core
    values = {item.name: getattr(core, item.name) for item in fields(core)}
    doc = value("model name") or "A core that no other row knows"
    return Core(**{**values, **ids, "name": cores.spelling(name), "doc": doc})


def _plain(record: Any) -> dict[str, Any]:
    return {item.name: getattr(record, item.name) for item in fields(record)}
