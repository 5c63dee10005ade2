"""Folders of trimtab: its resources, the user's configuration, the cache and persistent state.

Resources are all files that a build needs besides the Python code: ``runtime/``, ``kernels/``,
``toolchains/``, ``cores/``, ``profiles/``, ``devices/``, ``sweeps/``, ``templates/`` and
``CMakeLists.txt``. In a checkout they lie beside the package; a wheel contains them as
``trimtab/_resources``. Users add their own devices and cores in `config()`.
"""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def package() -> Path:
    """The folder of the Python package, which also contains the compiled engine."""
    return _PACKAGE


def is_checkout() -> bool:
    """True when the package runs from a source checkout (or an editable install of one)."""
    return (_PACKAGE.parent / "runtime" / "ops").is_dir()


PROGRAM = "./inv" if is_checkout() else "trimtab"
"""The command that starts trimtab, for texts that tell users what to type."""


def root() -> Path:
    """The folder that holds ``runtime/``, ``kernels/``, ``toolchains/``, ... (never written to)."""
    return _PACKAGE.parent if is_checkout() else _PACKAGE / "_resources"


def config() -> Path:
    """The folder of the user's configuration: ``devices/``, ``cores/``, pinned host keys.

    ``TRIMTAB_CONFIG_DIR`` overrides it; the default is ``$XDG_CONFIG_HOME/trimtab``
    (``~/.config/trimtab``).
    """
    override = os.environ.get("TRIMTAB_CONFIG_DIR")
    if override:
        return Path(override).expanduser().absolute()
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base).expanduser() / "trimtab"


def cache() -> Path:
    """The folder for build trees, compiler caches and downloads; may be deleted at any time.

    ``TRIMTAB_CACHE_DIR`` overrides it. The default is ``.cache`` in a checkout and
    ``$XDG_CACHE_HOME/trimtab`` (``~/.cache/trimtab``) for an installed package. The folder is not
    created here: code that writes into it creates its own sub-folder.
    """
    override = os.environ.get("TRIMTAB_CACHE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    if is_checkout():
        return root() / ".cache"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base).expanduser() / "trimtab"


def state() -> Path:
    """The folder of measured state that cannot be regenerated: noise floors.

    ``TRIMTAB_STATE_DIR`` overrides it; the default is ``$XDG_STATE_HOME/trimtab``
    (``~/.local/state/trimtab``).
    """
    override = os.environ.get("TRIMTAB_STATE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base).expanduser() / "trimtab"


def zig_cache() -> Path:
    """The folder for zig's global and local cache. All toolchains share it, and thus the compiled
    libc.
    """
    return cache() / "zig"
