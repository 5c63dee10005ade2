"""Profiles: the operators, dtypes and kernels of a binary, and its switches.

`profiles/NAME.toml` is written by hand for a family of networks; `trimtab.profile_of` derives one
from an optimized program. Both are the same frozen dataclass. `trimtab.build.codegen` generates
operator macros and tables from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from trimtab import kernels as kernel_files
from trimtab import paths, plugins, schema, strict_json
from trimtab.errors import ProfileError
from trimtab.toml_table import TomlFile

ANY = ("*",)
MAX_WINDOW = 999_999_999
"""The height, width and stride of the largest `windows` of a profile."""
_WINDOW = re.compile(r"(few )?([1-9]\d{0,8})x([1-9]\d{0,8})/([1-9]\d{0,8})")
_OFTEN_ABSENT = ("constants", "windows", "sizes")
_WILDCARD = re.compile(r"[*?\[]")
# The only Winograd tile of a small binary for unknown networks: four outputs and six inputs, 3x3,
# which most plans use. The transforms of the other tiles are 14 KB.
_SMALL_TILE = (4, 6)
_TRANSFORMS = ("winograd_input", "winograd_output", "winograd_weights")


class DepthwiseWindow(NamedTuple):
    """Depthwise convolutions: `stride` is the horizontal one; `few`: they have fewer channels than
    the kernel computes at once.
    """

    height: int
    width: int
    stride: int
    few: bool


@dataclass(frozen=True)
class Profile:
    """A selection of operators, dtypes and kernels, plus switches.

    `ops`: names, or "*" for all operators that support one of the `dtypes`, except those listed as
    "!name". `kernels`: glob patterns of kernel names; () for all that the operators may call.
    `strings`: include names of operators and variables and error texts; `threads`: include the
    thread pool; `small`: prefer kernels with little code, and compile all of them for size.
    `constants`: specialized attributes that have one value, as "operator.attribute=number".
    `windows`: the depthwise convolutions that have fast code, as "3x3/2" with the horizontal
    stride, or "few 3x3/2" for fewer channels than the kernel computes at once; () for all.
    `sizes`: the sources of sizes that operators have, as "expand.tensor"; of an operator that is
    not mentioned, attributes alone, or all if "*" includes it.
    """

    name: str
    doc: str = ""
    ops: tuple[str, ...] = ANY
    dtypes: tuple[str, ...] = ("f32",)
    kernels: tuple[str, ...] = ()
    strings: bool = True
    threads: bool = True
    small: bool = False
    constants: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()

    def operators(self) -> list[schema.Operator]:
        """The included operators in the order of their ids; ProfileError for unknown names and
        missing dependencies.
        """
        all_ops = schema.operators()
        where = f"profile {self.name}"
        named = {name.removeprefix("!") if self._has_wildcard else name for name in self.ops}
        if unknown := sorted(named - set(all_ops) - set(ANY)):
            raise ProfileError(
                f"unknown operators: {', '.join(unknown)}",
                where=where,
                hint="runtime/ops/ has one TOML file per operator",
            )
        included = [op for op in all_ops.values() if op.name in self.ops or self._matches(op)]
        names = {op.name for op in included}
        for op in included:
            if missing := sorted(set(op.depends) - names):
                raise ProfileError(
                    f"operator {op.name} depends on the excluded {', '.join(missing)}",
                    where=where,
                    hint=f"add {', '.join(missing)} to ops",
                )
        return included

    def constants_of(self, op: schema.Operator) -> dict[str, int]:
        """The attributes of an operator that have one value in this binary, with their numbers in
        .ttm files.
        """
        rows = (re.fullmatch(r"(\w+)\.(\w+)=(\d+)", text) for text in self.constants)
        own = {row[2]: int(row[3]) for row in rows if row and row[1] == op.name}
        for name, number in own.items():
            attribute = op.attribute(name)
            limit = len(attribute.values) or (2 if attribute.type == "bool" else 0)
            if not attribute.specialized or number > schema.MAX_CONSTANT or 0 < limit <= number:
                raise ProfileError(
                    f"constants: {op.name}.{name}={number} is not possible",
                    where=f"profile {self.name}",
                    hint="docs/adding-an-operator.md describes `specialized`",
                )
        return own

    def size_sources(self, op: schema.Operator) -> tuple[str, ...]:
        """The sources of sizes that an operator has in this binary, some of those in its schema."""
        possible = {"attributes", *op.size_ports}
        rows = [text.partition(".") for text in self.sizes]
        own = {source for name, _, source in rows if name == op.name}
        if unknown := sorted(own - possible):
            raise ProfileError(
                f"sizes: {op.name}.{unknown[0]} is not possible",
                where=f"profile {self.name}",
                hint=f"the sources of {op.name} are {', '.join(sorted(possible))}",
            )
        if not own:
            own = possible if self._matches(op) else {"attributes"}
        if len(own) > 1:  # then an operand may be absent, whatever the models have
            own.add("attributes")
        return tuple(source for source in schema.SIZE_SOURCES if source in own)

    def counts(self, op: schema.Operator) -> bool:
        """Whether sizes of an operator's results may depend on data in this binary."""
        return op.counts or "tensor" in self.size_sources(op)

    def depthwise_windows(self) -> list[DepthwiseWindow]:
        """The parts of `windows`; ProfileError for one that is malformed."""
        rows = [(text, _WINDOW.fullmatch(text)) for text in self.windows]
        if wrong := [text for text, row in rows if not row]:
            raise ProfileError(
                f"windows: {wrong[0]!r} is not a depthwise window",
                where=f"profile {self.name}",
                hint='write "3x3/2" for stride 2, or "few 3x3/2" for few channels',
            )
        return [
            DepthwiseWindow(int(row[2]), int(row[3]), int(row[4]), bool(row[1]))
            for _, row in rows
            if row
        ]

    @property
    def _has_wildcard(self) -> bool:
        return ANY[0] in self.ops

    def _matches(self, op: schema.Operator) -> bool:
        """Whether "*" includes this operator."""
        has_dtype = not {*self.dtypes}.isdisjoint(op.dtypes)
        return self._has_wildcard and has_dtype and f"!{op.name}" not in self.ops

    def families(self) -> set[str]:
        """Kernel families that the included operators may call.

        A fused activation is a kernel without its operator: a profile with `kernels` may use any
        activation, one without gets those of its operators.
        """
        included = self.operators()
        candidates = schema.operators().values() if self.kernels else included
        activations = {f for op in candidates if op.activation for f in op.families}
        families: set[str] = set()
        for op in included:
            for family in op.families:
                families |= activations if family == "@activation" else {family}
        return families

    def kernels_for(self, arch: str) -> list[kernel_files.Kernel]:
        """The kernels of a binary for `arch`; ProfileError if an operator has no kernel."""
        families, isas, names = self.families(), kernel_files.isas(), {*self.kernels}
        patterns = [p for p in self.kernels or ANY if _WILDCARD.search(p)]
        selected = [
            k
            for k in kernel_files.inventory().values()
            if k.family in families
            and arch in isas[k.isa].arch
            and k.dtype in self.dtypes
            and (k.name in names or any(fnmatchcase(k.name, p) for p in patterns))
        ]
        for op in self.operators():
            for attribute in op.attributes:
                needed = attribute.families if not attribute.optional else ()
                if needed and not self.dtypes_of(op, selected):
                    dtypes = [d for d in op.dtypes if d in self.dtypes] or op.dtypes
                    raise ProfileError(
                        f"operator {op.name} needs a kernel of {' or '.join(needed)} for "
                        f"{' or '.join(dtypes)}, and the profile has none for {arch}",
                        where=f"profile {self.name}",
                        hint="widen `kernels`, narrow `dtypes`, or remove the operator",
                    )
        return selected

    def dtypes_of(
        self, op: schema.Operator, available: Iterable[kernel_files.Kernel]
    ) -> tuple[str, ...]:
        """The dtypes of the profile in which the `available` kernels can compute an operator."""
        pairs = {(k.family, k.dtype) for k in available}
        needed = [a.families for a in op.attributes if a.families and not a.optional]
        return tuple(
            dtype
            for dtype in op.dtypes
            if dtype in self.dtypes
            and all(any((family, dtype) in pairs for family in one) for one in needed)
        )

    def narrowed(self, arch: str, isas: Iterable[str], needed: Iterable[str] = ()) -> Profile:
        """The profile for a specific CPU, without kernels that a plan for it would never use.

        It keeps, for every family: the kernels of the best of the CPU's instruction sets, kernels
        that are listed by their full names, and the `needed` ones of a plan for a lower instruction
        set. Kernels that are scheduled for one core may have tiles that do not suit every layer;
        for each of their other tiles the kernel with the least code is kept as well. A `small`
        profile keeps one Winograd tile. f16 kernels are dropped if the CPU only emulates f16.
        """
        candidates, rows, usable = self.kernels_for(arch), kernel_files.isas(), {*isas}

        def has_common_tile(k: kernel_files.Kernel) -> bool:
            tile, size = _SMALL_TILE
            return k.family not in _TRANSFORMS or (k.mr in (0, tile) and k.nr in (0, size))

        def best(kernels: Iterable[kernel_files.Kernel], small: bool) -> list[kernel_files.Kernel]:
            def order(k: kernel_files.Kernel) -> tuple[bool, int]:
                return small and k.family in rows[k.isa].slower, rows[k.isa].rank

            eligible = [
                k for k in kernels if k.isa in usable and (has_common_tile(k) or not self.small)
            ]
            top = {
                family: max(order(k) for k in eligible if k.typed_family == family)
                for family in {k.typed_family for k in eligible}
            }
            return [k for k in eligible if order(k) == top[k.typed_family]]

        chosen = best(candidates, self.small)
        if not any(k.family == "gemm" and k.dtype == "f16" and not k.portable for k in chosen):
            chosen = [k for k in chosen if k.dtype != "f16"]
        tiles = {(k.typed_family, k.packing) for k in chosen}
        scheduled = {k.typed_family for k in chosen if rows[k.isa].cores}
        unscheduled = [
            k for k in candidates if k.typed_family in scheduled and not rows[k.isa].cores
        ]
        others = best(unscheduled, small=True)
        chosen += [k for k in others if (k.typed_family, k.packing) not in tiles]
        by_name = {k.name for k in candidates} & {*self.kernels, *needed}
        return replace(self, kernels=tuple(sorted({k.name for k in chosen} | by_name)))

    def union(self, other: Profile) -> Profile:
        """The union of two profiles: a binary that runs everything that either runs."""

        def both(a: Iterable[str], b: Iterable[str]) -> tuple[str, ...]:
            return tuple(sorted({*a, *b}))

        ops = both(self.ops, other.ops)
        own, others = ({op.name for op in profile.operators()} for profile in (self, other))
        if self._has_wildcard or other._has_wildcard:
            ops = ANY + tuple(n for n in ops if n[0] == "!" and n[1:] not in own | others)
        constants = {*self.constants} & {*other.constants}
        constants |= {
            text
            for text in {*self.constants, *other.constants}
            if text.partition(".")[0] not in own & others
        }
        sources: dict[str, set[str]] = {}
        for profile in (self, other):
            for op in profile.operators():
                sources.setdefault(op.name, set()).update(profile.size_sources(op))
        sizes = {
            f"{name}.{source}"
            for name, both_sources in sources.items()
            for source in both_sources
            if both_sources != {"attributes"}
        }
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
            constants=tuple(sorted(constants)),
            windows=both(self.windows, other.windows) if self.windows and other.windows else (),
            sizes=tuple(sorted(sizes)),
        )

    def digest(self) -> str:
        """16 hexadecimal digits over everything except the name and the documentation."""
        import hashlib  # loads OpenSSL, which running a model does not need

        facts = asdict(replace(self, name="", doc=""))
        for key in _OFTEN_ABSENT:
            if not facts[key]:
                del facts[key]
        return hashlib.sha256(strict_json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def to_toml(self) -> str:
        """The text of the profile's TOML file, which is named after it."""
        import tomli_w  # not available when CMake runs the code generator

        table = {key: value for key, value in asdict(self).items() if key != "name"}
        for key in ("kernels", *_OFTEN_ABSENT):
            if not table[key]:
                del table[key]
        return tomli_w.dumps(table)


def read_profile(path: Path) -> Profile:
    """Reads a profile file; ProfileError names the file and the key that is wrong."""
    file = TomlFile(path, ProfileError)
    profile = file.record(Profile, name=path.stem)
    if unknown := sorted(set(profile.dtypes) - set(schema.DTYPES)):
        raise ProfileError(
            f"unknown dtypes: {', '.join(unknown)}",
            where=str(path),
            hint=f"use {', '.join(schema.DTYPES)}",
        )
    profile.operators()
    profile.depthwise_windows()
    return profile


def list_profiles() -> list[str]:
    """Names of the profiles of trimtab and of plug-ins."""
    return sorted(_files())


def find_profile(name: str) -> Profile:
    """A profile by name (`yolo`) or by the path of its TOML file."""
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        return read_profile(path)
    if file := _files().get(name):
        return read_profile(file)
    raise ProfileError(
        f"there is no profile {name!r}",
        hint=f"use {', '.join(list_profiles())}, or the path of a TOML file",
    )


def _files() -> dict[str, Path]:
    own = {p.stem: p for p in (paths.root() / "profiles").glob("*.toml")}
    return plugins.merged_files("profiles", own)
