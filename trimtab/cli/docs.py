"""Pages of the documentation, as far as the code writes them."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task


@task(help={"check": "write nothing; fail, and name them, when pages are stale"})
def docs(_: Context, check: bool = False) -> None:
    """Bring the generated parts of all pages up to date."""
    from trimtab import pages
    from trimtab.errors import StalePagesError

    if check and (stale := pages.stale()):
        raise StalePagesError(
            f"not what the code writes: {', '.join(str(path) for path in stale)}",
            hint="run ./inv docs, and commit what it writes",
        )
    for path in [] if check else pages.renew():
        print(f"written: {path}")
