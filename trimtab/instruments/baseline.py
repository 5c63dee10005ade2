"""Committed figures that a check holds later ones against.

A baseline is a JSON object of figures by name. It holds numbers that do not depend on the machine's
load (counted instructions, a model's cycles), so a small allowance is enough.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from trimtab import files, paths
from trimtab.errors import FileAccessError, RegressionError

ALLOWED = 0.02  # a part of the committed figure


def path_of(name: str) -> Path:
    """The file of the baseline `name`, in a checkout."""
    return paths.root() / "bench" / f"{name}.json"


def check(name: str, figures: Mapping[str, float]) -> None:
    """Holds `figures`, of which less is better, against the baseline `name`.

    RegressionError when one is worse by more than 2 %, or has no committed figure; FileAccessError
    when there is no such baseline.
    """
    known = _read(path_of(name))
    if missing := sorted(set(figures) - set(known)):
        raise RegressionError(
            f"no figure is committed for {', '.join(missing)}",
            where=str(path_of(name)),
            hint="write it with --update, and commit it",
        )
    worse = [
        f"{key}: {known[key]:.6g} to {value:.6g} ({value / known[key] - 1:+.1%})"
        for key, value in figures.items()
        if value > known[key] * (1 + ALLOWED)
    ]
    if worse:
        raise RegressionError(
            f"worse than the baseline by more than {ALLOWED:.0%}: {'; '.join(worse)}",
            where=str(path_of(name)),
            hint="find the change that did it; if it is worth its price, use --update and commit",
        )


def update(name: str, figures: Mapping[str, float]) -> Path:
    """Puts `figures` into the baseline `name`, keeps its others, and returns its path."""
    path = path_of(name)
    known = _read(path) if path.exists() else {}
    text = json.dumps(dict(sorted({**known, **figures}.items())), indent=1) + "\n"
    files.write_text(path, text, hint="baselines belong to a checkout")
    return path


def _read(path: Path) -> dict[str, float]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return {str(key): float(value) for key, value in table.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise FileAccessError(
            f"the baseline cannot be read: {error}",
            where=str(path),
            hint="write it with --update",
        ) from error
