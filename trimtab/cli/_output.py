"""Standard output that escapes what a terminal would obey."""

from __future__ import annotations

import io
import sys

from trimtab import escape


class EscapedOutput(io.TextIOWrapper):
    """A text stream whose characters pass through `escape.text`.

    Tasks print names of models, devices and files; none of them may move the cursor, and none may
    fail to be encoded. Programs that are started write to the file descriptor, with their colors.
    """

    def write(self, text: str) -> int:
        """Writes `text`; returns its length."""
        super().write(escape.text(text))
        return len(text)


def escape_output() -> None:
    """Makes the standard output of this process an escaped one."""
    plain = sys.stdout
    if isinstance(plain, io.TextIOWrapper) and not isinstance(plain, EscapedOutput):
        plain.flush()
        sys.stdout = EscapedOutput(
            plain.buffer,
            encoding=plain.encoding,
            errors="backslashreplace",
            line_buffering=plain.line_buffering,
        )
