"""The decoder of JPEG and PNG files in runners: the header stb_image."""

from __future__ import annotations

from pathlib import Path

from trimtab.errors import MissingRequirementError

HEADER = Path("/usr/include/stb/stb_image.h")
"""Where Debian's package has it."""

PACKAGE = "libstb-dev"


def folder() -> Path:
    """The folder of the header; MissingRequirementError without it."""
    if not HEADER.is_file():
        raise MissingRequirementError(
            "the decoder of JPEG and PNG files is missing",
            where=str(HEADER),
            hint=f"./inv setup, or install the package {PACKAGE}",
        )
    return HEADER.parent
