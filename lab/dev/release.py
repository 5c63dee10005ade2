"""What a release is made of."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task


@task(
    help={
        "wheels": "folder of wheels that cibuildwheel made; default: one for this very Python",
        "output": "folder, which must not exist; default: dist",
    }
)
def release(_: Context, wheels: str = "", output: str = "dist") -> None:
    """Make source distribution, manylinux wheels, SBOM and SHA-256 sums of the last commit."""
    from pathlib import Path

    from trimtab import files
    from trimtab.cli import _release, _shell
    from trimtab.errors import UsageError

    folder = Path(output)
    if folder.exists():
        raise UsageError("the folder exists", where=output, hint="move it away, or name another")
    given = sorted(Path(wheels).glob("*.whl")) if wheels else []
    if wheels and not given:
        raise UsageError("there are no wheels", where=wheels)
    with files.replacing_folder(folder.absolute()) as fresh:
        _release.build(_shell.checkout(), fresh, given)
    print((folder / _release.SUMS).read_text(), end="")
