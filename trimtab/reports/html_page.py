"""A self-contained HTML page: text, tables, and charts that Observable Plot draws.

The libraries and scripts of `page/` are inlined; those that draw, and their data, are compressed.
A content security policy forbids every request, and every script but these, which it names by their
hashes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib import resources

from trimtab import escape, strict_json
from trimtab.reports.chart_data import Chart
from trimtab.tables import Page, Table

_DRAWING = ("library.min.js", "words.js", "charts.js", "graph.js", "cells.js", "page.js")
_UNPACK, _LIVE = "unpack.js", "live.js"


def page(
    title: str,
    head: Page,
    charts: Sequence[Chart],
    tables: Sequence[Table],
    notes: Sequence[str] = (),
    links: Sequence[tuple[str, str]] = (),
    state: str = "",
) -> str:
    """The page: `head`, notes, then the charts, `tables`, and `links` as (address, text).

    A page with a `state` comes from a server: it polls `/state`, and reloads when that changes.
    """
    body = [f"<h1>{escape.html(title)}</h1>"]
    body += [_paragraph(part) if isinstance(part, str) else part.html() for part in head]
    body += map(_paragraph, notes)
    body += [_section(chart, i) for i, chart in enumerate(charts)]
    body += [table.html() for table in tables]
    if links:
        items = "".join(
            f'<li><a href="{escape.html(to)}">{escape.html(text)}</a></li>' for to, text in links
        )
        body.append(f"<h2>Runs, newest first</h2><ul>{items}</ul>")
    scripts = f"<script>{asset(_LIVE)}</script>\n" if state else ""
    if charts:
        data = strict_json.dumps(escape.texts_of([asdict(chart) for chart in charts]))
        scripts += f'<script type="text/plain" id="data">{_packed(data)}</script>\n'
        scripts += f'<script type="text/plain" id="scripts">{_packed(_drawing())}</script>\n'
        scripts += f"<script>{asset(_UNPACK)}</script>\n"
    own = "; connect-src 'self'" if state else ""
    live = f' data-state="{escape.html(state)}"' if state else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}{own}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape.html(title)}</title><style>{asset('page.css')}</style></head>\n<body{live}>"
        + "\n".join(body)
        + f"\n{scripts}</body></html>\n"
    )


@cache
def policy() -> str:
    """The content security policy of every page, but for its requests to a server of its own."""
    hashes = " ".join(map(_source, (asset(_LIVE), asset(_UNPACK), _drawing())))
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; "
        f"script-src {hashes}"
    )


def _drawing() -> str:
    """The scripts that draw charts, which share one scope."""
    return "\n".join(map(asset, _DRAWING))


def _packed(text: str) -> str:
    """A text, compressed, in the characters of base85 with `,` for `<`, which would open a tag."""
    return base64.b85encode(gzip.compress(text.encode(), mtime=0)).decode().replace("<", ",")


def _source(script: str) -> str:
    """The hash of a script, as a policy allows it."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _paragraph(text: str) -> str:
    return f"<p>{escape.html(text)}</p>"


def _section(chart: Chart, index: int) -> str:
    """The section of a chart. It takes the focus, so that arrow keys move between marks."""
    form = "<form></form>" if chart.kind == "cells" else ""
    caption = f"<figcaption>{escape.html(chart.caption)}</figcaption>" if chart.caption else ""
    return (
        f'<section class="chart" data-kind="{chart.kind}" tabindex="0"'
        f' aria-labelledby="chart{index}">'
        f'<h2 id="chart{index}">{escape.html(chart.title)}</h2>{caption}{form}'
        '<div class="plot"><noscript>This chart needs JavaScript; the tables have its numbers.'
        '</noscript></div><output aria-live="polite"></output></section>'
    )


@cache
def asset(name: str) -> str:
    """The text of a script or a style sheet of the pages."""
    return (resources.files("trimtab.reports") / "page" / name).read_text(encoding="utf-8")
