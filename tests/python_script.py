"""Programs that tests write in Python, to stand in for others."""

from __future__ import annotations

import shlex
import sys

# For the kernel the path of an interpreter ends at the first blank, so that a shell starts Python;
# for Python, what the shell reads is a string.
FIRST_LINES = f"#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n'''\n"
"""The first lines of a script that this Python runs, wherever it lies."""
