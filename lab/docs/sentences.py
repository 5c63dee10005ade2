"""Sentences that several blocks share."""

from __future__ import annotations

from collections.abc import Iterable

import lab
from lab import committed


def made_by(name: str) -> str:
    """The provenance of the committed results `name`: date, machine, versions, command."""
    results = committed.read(name)
    words = [f"Figures of {results.date}"]
    if machine := results.machine:
        words.append(f"of {machine['cores']} cores of an {machine['cpu']} ({machine['core']})")
        if machine["virtual"]:
            words[-1] += " in a virtual machine"
        if machine["load_before"] is not None:
            words.append(f"load average {machine['load_before']} before")
        if machine["stolen"] is not None:
            words.append(f"{machine['stolen']:.1%} steal time")
        before, after = machine.get("hand_over_ns", (None, None))
        if before and after:
            words.append(
                f"core-to-core round trip of {before:.0f} ns before and {after:.0f} ns after"
            )
    words += [f"{program} {version}" for program, version in results.versions.items()]
    path = committed.path_of(name).relative_to(lab.FOLDER.parent)
    by = f", made by `{results.command}`" if results.command else ""
    return "\n".join([f"{', '.join(words)}: `{path}`{by}.", *results.notes])


def listed(words: Iterable[str]) -> str:
    """Joins one or more words as "a, b and c"."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
