"""The disk space of an installed trimtab, by package."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import committed
from lab.dev import distribution, shell
from lab.dev.lock import LOCK
from trimtab import __version__
from trimtab.errors import BuildError
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table

NAME = "package_size"
LIMIT_MB = 520

# Run by the environment's own Python: bytes of each distribution's files. `pip` and `setuptools`
# come with the environment, and are not counted.
_SIZES = """
import json, os
from importlib import metadata
sizes = {}
for d in metadata.distributions():
    name = d.metadata["Name"].lower()
    paths = [d.locate_file(file) for file in d.files or ()]
    sizes[name] = sum(os.path.getsize(p) for p in paths if os.path.isfile(p))
print(json.dumps({k: v for k, v in sizes.items() if k not in ("pip", "setuptools")}))
"""


@dataclass(frozen=True)
class InstalledPackage:
    """A distribution. `size_bytes`: the sum of its files, those that pip compiles included."""

    package: str
    size_bytes: int


def measure(progress: Progress = SILENT) -> list[InstalledPackage]:
    """Builds the wheel of the last commit and installs it with the locked packages into an empty
    environment; largest first. BuildError if pip fails.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "wheel").mkdir()
        with progress.step("build the wheel"):
            subprocess.run(["git", "clone", "-q", str(shell.ROOT), f"{folder}/clone"], check=True)
            wheel = distribution.build_wheel(folder / "clone", folder / "wheel")
        with progress.step("install it into an empty environment"):
            subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
            python = f"{folder}/venv/bin/python"
            for what in (["--require-hashes", f"-r{shell.ROOT / LOCK}"], ["--no-deps", str(wheel)]):
                argv = [python, "-m", "pip", "install", "--quiet", *what]
                done = subprocess.run(argv, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise BuildError(f"pip failed:\n{done.stderr[-2000:]}")
        text = subprocess.run([python, "-c", _SIZES], capture_output=True, text=True, check=True)
        sizes = json.loads(text.stdout)
    # Only `./inv` needs the backend that makes a checkout importable.
    for name in ("scikit-build-core", "scikit_build_core", "pathspec"):
        sizes.pop(name, None)
    return sorted((InstalledPackage(*item) for item in sizes.items()), key=lambda i: -i.size_bytes)


def to_results(installed: Sequence[InstalledPackage]) -> committed.Results:
    """The committed form."""
    return committed.Results(
        command="./inv package.size --update",
        versions={"trimtab": __version__, "Python": sys.version.split()[0]},
        rows=[asdict(item) for item in installed],
    )


def from_rows(rows: Sequence[committed.Row]) -> list[InstalledPackage]:
    """The packages of a result file."""
    return [InstalledPackage(**row) for row in rows]


def table(installed: Sequence[InstalledPackage]) -> Table:
    """A row for each package above a megabyte, and one for the rest."""
    large = [item for item in installed if item.size_bytes >= 1e6]
    small = [item for item in installed if item.size_bytes < 1e6]
    rows = [(item.package, item.size_bytes / 1e6) for item in large]
    rows.append((f"{len(small)} others", sum(item.size_bytes for item in small) / 1e6))
    rows.append(("sum", sum(item.size_bytes for item in installed) / 1e6))
    return Table([Column("package"), Column("MB", ".1f")], rows)
