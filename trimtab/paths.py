"""Where trimtab's resources lie and where it keeps what it can make again.

Resources are everything that a build needs beside the Python code: ``runtime/``, ``kernels/``,
``toolchains/``, ``cores/``, ``profiles/``, ``devices/``, ``sweeps/``, ``templates/`` and
``CMakeLists.txt``. In a checkout they are beside the package; a wheel carries them as
``trimtab/_resources``. Devices and cores may also be the user's own, in `config()`.
"""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def package() -> Path:
    """The folder of the Python package itself, where the compiled engine lies."""
    return _PACKAGE


def is_checkout() -> bool:
    """True when the package runs from a source checkout (or an editable install of one)."""
    return (_PACKAGE.parent / "runtime" / "ops").is_dir()


def root() -> Path:
    """The folder that holds ``runtime/``, ``kernels/``, ``toolchains/``, ... (never written to)."""
    return _PACKAGE.parent if is_checkout() else _PACKAGE / "_resources"


def config() -> Path:
    """The folder of the user's own: ``devices/``, ``cores/``, pinned host keys.

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
    created here: whoever writes into it makes its own sub-folder.
    """
    override = os.environ.get("TRIMTAB_CACHE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    if is_checkout():
        return root() / ".cache"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base).expanduser() / "trimtab"


def state() -> Path:
    """The folder for what trimtab has found out and cannot make again by itself: noise floors.

    ``TRIMTAB_STATE_DIR`` overrides it; the default is ``$XDG_STATE_HOME/trimtab``
    (``~/.local/state/trimtab``).
    """
    override = os.environ.get("TRIMTAB_STATE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base).expanduser() / "trimtab"


def zig_cache() -> Path:
    """The one folder for zig's global and local cache: all toolchains share its compiled libc."""
    return cache() / "zig"
