"""Generates parts of the documentation's pages."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task


@task(
    auto_shortflags=False,
    help={
        "check": "write nothing; fail when pages are out of date, and name them",
        "pictures": "also draw the pictures of the README (needs chromium)",
        "run": "use this record for the picture of a report",
        "sweep": "use the results in this folder for the picture of a sweep",
    },
)
def docs(
    _: Context, check: bool = False, pictures: bool = False, run: str = "", sweep: str = ""
) -> None:
    """Update the generated parts of all pages, and pictures on demand."""
    from pathlib import Path

    from lab.docs import generator
    from lab.docs import pictures as drawing
    from trimtab.errors import StalePagesError

    if run:
        print(f"written: {drawing.take_run(Path(run))}")
    if sweep:
        print(f"written: {drawing.take_sweep(Path(sweep), './inv docs --sweep FOLDER')}")
    if pictures or run or sweep:
        for path in drawing.draw():
            print(f"written: {path}")
    if check and (stale := generator.stale(generator.every_page())):
        raise StalePagesError(
            f"out of date: {', '.join(str(path) for path in stale)}",
            hint="run ./inv docs, and commit the pages",
        )
    for path in [] if check else generator.renew():
        print(f"written: {path}")
