"""The table of installed packages in docs/dependencies.md."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.package_size import measure
from trimtab.tables import Page


@reference("Installed size by package")
def package_size() -> Page:
    """Provenance, verdict, and the megabytes of each package."""
    installed = measure.PACKAGES.rows()
    total = sum(item.size_bytes for item in installed) / 1e6
    verdict = "holds" if total <= measure.LIMIT_MB else f"is exceeded: {total:.0f} MB"
    return [
        made_by(measure.PACKAGES.name),
        f"At most {measure.LIMIT_MB} MB are wanted, which {verdict}.",
        measure.table(installed),
    ]
