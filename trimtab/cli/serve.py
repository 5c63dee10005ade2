"""The results as a local site."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._options import RESULTS_HELP

GROUP = "Compare and report"


@task(
    help={
        "results": RESULTS_HELP,
        "host": "address to listen at; for any but this machine's own the site asks for a token",
        "port": "port to listen at; 0 takes one that is free",
    }
)
def serve(_: Context, results: str = "", host: str = "127.0.0.1", port: int = 8077) -> None:
    """Show the results in a browser: all runs at a glance, live, and the page of each."""
    from trimtab.reports.server import bind_server
    from trimtab.results.folder import results_folder

    found = bind_server(results_folder(results), host, port)
    print(f"open {found.url}\nCtrl-C ends it", flush=True)
    try:
        found.run()
    except KeyboardInterrupt:
        print()
