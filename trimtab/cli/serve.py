"""The results as a local site."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import RESULTS_HELP

GROUP = "Compare and report"


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Options of `serve`."""

    results: str = option(RESULTS_HELP)
    host: str = option(
        "address to listen at; at any but this machine's own the site asks for a token", "127.0.0.1"
    )
    port: int = option("port to listen at; 0 takes a free one", 8077)


@command(ServeOptions)
def serve(options: ServeOptions) -> None:
    """Show the results in a browser: all runs at a glance, live, and the page of each."""
    from trimtab.reports.server import bind_server
    from trimtab.results.folder import results_folder

    server = bind_server(results_folder(options.results), options.host, options.port)
    print(f"open {server.url}\nCtrl-C ends it", flush=True)
    try:
        server.run()
    except KeyboardInterrupt:
        print()
