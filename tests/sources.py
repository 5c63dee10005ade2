"""The project's own sources, for tests of its rules."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "trimtab"
LABORATORY = ROOT / "lab"
CPP_FOLDERS = ("runtime", "kernels", "bindings")


def modules(package: Path) -> dict[str, Path]:
    by_name = {}
    for path in sorted(package.rglob("*.py")):
        if "_resources" in path.parts:
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        by_name[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return by_name


MODULES = modules(PACKAGE)
OWN = MODULES | modules(LABORATORY)
IMPORTABLE = {*OWN, "trimtab._engine"}  # the compiled engine has no source here


def cpp_sources() -> list[Path]:
    return [
        path
        for folder in CPP_FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".h", ".cpp", ".c", ".inc"}
    ]
