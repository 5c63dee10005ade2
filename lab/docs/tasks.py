"""Pages of the documentation, as far as the code writes them."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task


@task(
    auto_shortflags=False,
    help={
        "check": "write nothing; fail, and name them, when pages are stale",
        "pictures": "draw the pictures of the README anew, too; a browser does (chromium)",
        "run": "take this record for the picture of a report",
        "sweep": "take the results in this folder for the picture of a sweep",
    },
)
def docs(
    _: Context, check: bool = False, pictures: bool = False, run: str = "", sweep: str = ""
) -> None:
    """Bring the generated parts of all pages up to date, and pictures on demand."""
    from pathlib import Path

    from lab.docs import generator as pages
    from lab.docs import pictures as drawing
    from trimtab.errors import StalePagesError

    if run:
        print(f"written: {drawing.take_run(Path(run))}")
    if sweep:
        print(f"written: {drawing.take_sweep(Path(sweep), './inv docs --sweep FOLDER')}")
    if pictures or run or sweep:
        for path in drawing.draw():
            print(f"written: {path}")
    if check and (stale := pages.stale()):
        raise StalePagesError(
            f"not what the code writes: {', '.join(str(path) for path in stale)}",
            hint="run ./inv docs, and commit what it writes",
        )
    for path in [] if check else pages.renew():
        print(f"written: {path}")
