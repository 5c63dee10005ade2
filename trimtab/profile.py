"""Profiles: which operators, element types and kernels a binary holds, and its switches.

`profiles/NAME.toml` is written by hand for a family of networks; `trimtab.profile_of` derives one
from an optimized program. Both become the same frozen dataclass, and `trimtab.build.codegen` turns
it into op macros and tables.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from trimtab import kernels as kernel_files
from trimtab import paths, plugins, schema
from trimtab.errors import ProfileError

ANY = ("*",)
# The one Winograd tile that a small binary holds for networks that it does not know: of four
# outputs and six inputs, 3x3, which most plans ask for. The transforms of the others are 14 KB.
_SMALL_TILE = (4, 6)
_TRANSFORMS = ("winograd_input", "winograd_output", "winograd_weights")


@dataclass(frozen=True)
class Profile:
    """A choice of (operator, dtype, kernel) plus switches.

    `ops` are names, or "*" for all that take one of the `dtypes`, but those that are named with a
    "!" before; `kernels` are glob patterns
    over kernel names, () meaning those that the kept operators may call; `strings`: keep operator
    and variable names and error texts; `threads`: the thread pool; `small`: kernels with little
    code where there are such, all of them compiled for size.
    """

    name: str
    doc: str = ""
    ops: tuple[str, ...] = ANY
    dtypes: tuple[str, ...] = ("f32",)
    kernels: tuple[str, ...] = ()
    strings: bool = True
    threads: bool = True
    small: bool = False

    def operators(self) -> list[schema.Operator]:
        """The kept operators in the order of their ids; ProfileError for unknown names and broken
        dependencies.
        """
        known = schema.operators()
        where = f"profile {self.name}"
        named = {name.removeprefix("!") if self._takes_all else name for name in self.ops}
        if unknown := sorted(named - set(known) - set(ANY)):
            raise ProfileError(
                f"unknown operators: {', '.join(unknown)}",
                where=where,
                hint="runtime/ops/ holds one TOML file per operator",
            )
        kept = [op for op in known.values() if op.name in self.ops or self._takes(op)]
        held = {op.name for op in kept}
        for op in kept:
            if missing := sorted(set(op.depends) - held):
                raise ProfileError(
                    f"operator {op.name} depends on {', '.join(missing)}, which it leaves out",
                    where=where,
                    hint=f"add {', '.join(missing)} to ops",
                )
        return kept

    @property
    def _takes_all(self) -> bool:
        return ANY[0] in self.ops

    def _takes(self, op: schema.Operator) -> bool:
        """Whether "*" means this operator."""
        has_type = not {*self.dtypes}.isdisjoint(op.dtypes)
        return self._takes_all and has_type and f"!{op.name}" not in self.ops

    def families(self) -> set[str]:
        """Kernel families that the kept operators may call.

        A fused activation is a kernel without its operator: a profile that names kernels may use
        any, one that does not gets those of the operators it keeps.
        """
        kept = self.operators()
        candidates = schema.operators().values() if self.kernels else kept
        activations = {f for op in candidates if op.activation for f in op.families}
        families: set[str] = set()
        for op in kept:
            for family in op.families:
                families |= activations if family == "@activation" else {family}
        return families

    def kernels_for(self, arch: str) -> list[kernel_files.Kernel]:
        """The kernels of a binary for `arch`; ProfileError when a kept operator is left without
        one.
        """
        families, patterns, isas = self.families(), self.kernels or ANY, kernel_files.isas()
        kept = [
            k
            for k in kernel_files.inventory().values()
            if k.family in families
            and arch in isas[k.isa].arch
            and k.dtype in self.dtypes
            and any(fnmatchcase(k.name, p) for p in patterns)
        ]
        for op in self.operators():
            for attribute in op.attributes:
                needed = attribute.families if not attribute.optional else ()
                if needed and not self.dtypes_of(op, kept):
                    wanted = [d for d in op.dtypes if d in self.dtypes] or op.dtypes
                    raise ProfileError(
                        f"operator {op.name} needs a kernel of {' or '.join(needed)} for "
                        f"{' or '.join(wanted)}, and none is left for {arch}",
                        where=f"profile {self.name}",
                        hint="widen `kernels`, narrow `dtypes`, or drop the operator",
                    )
        return kept

    def dtypes_of(
        self, op: schema.Operator, kept: Iterable[kernel_files.Kernel]
    ) -> tuple[str, ...]:
        """The element types that a kept operator can compute in: those of the profile for which the
        `kept` kernels have one of each that it needs.
        """
        held = {(k.family, k.dtype) for k in kept}
        needed = [a.families for a in op.attributes if a.families and not a.optional]
        return tuple(
            dtype
            for dtype in op.dtypes
            if dtype in self.dtypes
            and all(any((family, dtype) in held for family in one) for one in needed)
        )

    def narrowed(self, arch: str, isas: Iterable[str], needed: Iterable[str] = ()) -> Profile:
        """The profile for a CPU that is known: of every family the kernels of the best of its
        instruction sets, as nothing else would be chosen, those that are named in full, and those
        that a plan of a lower one has `needed`. Kernels that are scheduled for a core may be for
        tiles that not every layer fills: for what is left, which is rare, those with the least code
        are kept, too, as a model that wants others is built with them. Of
        Winograd's algorithm a `small` one has one tile. Nothing is planned in f16 for a CPU that
        computes it one element at a time.
        """
        known, rows, usable = self.kernels_for(arch), kernel_files.isas(), {*isas}

        def is_common(k: kernel_files.Kernel) -> bool:
            tile, size = _SMALL_TILE
            return k.family not in _TRANSFORMS or (k.mr in (0, tile) and k.nr in (0, size))

        def best(kernels: Iterable[kernel_files.Kernel], small: bool) -> list[kernel_files.Kernel]:
            def order(k: kernel_files.Kernel) -> tuple[bool, int]:
                return small and k.family in rows[k.isa].slower, rows[k.isa].rank

            found = [k for k in kernels if k.isa in usable and (is_common(k) or not self.small)]
            top = {
                family: max(order(k) for k in found if k.typed_family == family)
                for family in {k.typed_family for k in found}
            }
            return [k for k in found if order(k) == top[k.typed_family]]

        chosen = best(known, self.small)
        if not any(k.family == "gemm" and k.dtype == "f16" and not k.portable for k in chosen):
            chosen = [k for k in chosen if k.dtype != "f16"]
        tiles = {(k.typed_family, k.packing) for k in chosen}
        scheduled = {k.typed_family for k in chosen if rows[k.isa].cores}
        unscheduled = [k for k in known if k.typed_family in scheduled and not rows[k.isa].cores]
        others = best(unscheduled, small=True)
        chosen += [k for k in others if (k.typed_family, k.packing) not in tiles]
        kept = {k.name for k in chosen}
        named = {k.name for k in known} & {*self.kernels, *needed}
        return replace(self, kernels=tuple(sorted(kept | named)))

    def union(self, other: Profile) -> Profile:
        """The union of two profiles: a binary that runs what either runs."""

        def both(a: Iterable[str], b: Iterable[str]) -> tuple[str, ...]:
            return tuple(sorted({*a, *b}))

        ops = both(self.ops, other.ops)
        if self._takes_all or other._takes_all:
            kept = {op.name for profile in (self, other) for op in profile.operators()}
            ops = ANY + tuple(name for name in ops if name[0] == "!" and name[1:] not in kept)
        return Profile(
            name=f"{self.name}+{other.name}",
            doc=f"{self.doc} {other.doc}".strip(),
            ops=ops,
            dtypes=both(self.dtypes, other.dtypes),
            kernels=()
            if not self.kernels or not other.kernels
            else both(self.kernels, other.kernels),
            strings=self.strings or other.strings,
            threads=self.threads or other.threads,
            small=self.small and other.small,
        )

    def digest(self) -> str:
        """16 hexadecimal digits over everything but the name and the documentation."""
        import hashlib  # as in trimtab.schema: not for who only runs a model

        facts = asdict(replace(self, name="", doc=""))
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def to_toml(self) -> str:
        """The profile as the text of a TOML file, which is called after its name."""
        import tomli_w  # not where CMake asks for tables: there is only the standard library

        table = {key: value for key, value in asdict(self).items() if key != "name"}
        if not self.kernels:
            del table["kernels"]
        return tomli_w.dumps(table)


def read_profile(path: Path) -> Profile:
    """Reads a profile file; ProfileError names the file and the key that is wrong."""
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise ProfileError(str(e), where=str(path)) from None
    for key in ("ops", "dtypes", "kernels"):
        if key in table:
            if not isinstance(table[key], list) or not all(isinstance(v, str) for v in table[key]):
                raise ProfileError(f"{key} must be a list of names", where=str(path))
            table[key] = tuple(table[key])
    for key in ("strings", "threads", "small"):
        if not isinstance(table.get(key, False), bool):
            raise ProfileError(f"{key} must be true or false", where=str(path))
    try:
        profile = Profile(name=path.stem, **table)
    except TypeError:
        keys = sorted(set(table) - ({key.name for key in fields(Profile)} - {"name"}))
        raise ProfileError(
            f"unknown keys: {', '.join(keys)}",
            where=str(path),
            hint="a profile has doc, ops, dtypes, kernels, strings, threads, small",
        ) from None
    if unknown := sorted(set(profile.dtypes) - set(schema.DTYPES)):
        raise ProfileError(
            f"unknown dtypes: {', '.join(unknown)}",
            where=str(path),
            hint=f"use {', '.join(schema.DTYPES)}",
        )
    profile.operators()
    return profile


def list_profiles() -> list[str]:
    """Names of the profiles that ship with trimtab, and of those of plug-ins."""
    return sorted(_files())


def find_profile(name: str) -> Profile:
    """A profile by name (`yolo`) or by the path of its TOML file."""
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        return read_profile(path)
    if known := _files().get(name):
        return read_profile(known)
    raise ProfileError(
        f"there is no profile {name!r}",
        hint=f"known: {', '.join(list_profiles())}, or the path of a TOML file",
    )


def _files() -> dict[str, Path]:
    own = {p.stem: p for p in (paths.root() / "profiles").glob("*.toml")}
    return plugins.merged_files("profiles", own)
