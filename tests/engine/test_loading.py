"""When the extension is loaded."""

from __future__ import annotations

import subprocess
import sys

IMPORTS = """
import importlib, pkgutil, sys
import lab, trimtab

for package in (trimtab, lab):
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not info.name.endswith(("__main__", "_engine")) and "_resources" not in info.name:
            importlib.import_module(info.name)
print(sum(name.startswith("trimtab.") for name in sys.modules), "trimtab._engine" in sys.modules)
"""


def test_no_import_loads_the_engine_because_tasks_build_it_first() -> None:
    argv = [sys.executable, "-P", "-c", IMPORTS]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    count, is_loaded = done.stdout.split()
    assert int(count) > 100
    assert is_loaded == "False"
