"""The disk space of an installed trimtab, by package."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lab.dev import distribution, shell
from lab.dev.lock import LOCK
from lab.experiment import Experiment, FigureRow, figure, figure_row, text
from lab.worker import ask_once
from trimtab.errors import BuildError
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table

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


@figure_row
class InstalledPackageRow(FigureRow):
    """A distribution. `size_bytes`: the sum of its files, those that pip compiles included."""

    package: str = text("package")
    size_bytes: int = figure()


PACKAGES = Experiment("package.size", "package_size", InstalledPackageRow)


def measure(progress: Progress = SILENT) -> list[InstalledPackageRow]:
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
        sizes = ask_once([python, "-c", _SIZES], "the empty environment")
    # Only `./inv` needs the backend that makes a checkout importable.
    for name in ("scikit-build-core", "scikit_build_core", "pathspec"):
        sizes.pop(name, None)
    return sorted(
        (InstalledPackageRow(*item) for item in sizes.items()), key=lambda i: -i.size_bytes
    )


def table(installed: Sequence[InstalledPackageRow]) -> Table:
    """A row for each package above a megabyte, and one for the rest."""
    large = [item for item in installed if item.size_bytes >= 1e6]
    small = [item for item in installed if item.size_bytes < 1e6]
    rows = [(item.package, item.size_bytes / 1e6) for item in large]
    rows.append((f"{len(small)} others", sum(item.size_bytes for item in small) / 1e6))
    rows.append(("sum", sum(item.size_bytes for item in installed) / 1e6))
    return Table([Column("package"), Column("MB", ".1f")], rows)
