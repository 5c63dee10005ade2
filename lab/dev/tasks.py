"""Formatters and linters: what a developer runs before a commit, and CI after it."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task


@task(
    help={
        "tidy": "with clang-tidy, which is the slow one (--no-tidy leaves it out)",
        "deep": "clang-tidy's analyser follows all paths: some five times as long",
    }
)
def lint(_: Context, tidy: bool = True, deep: bool = False) -> None:
    """Check formatting, lint and types of the Python and C++ sources."""
    from trimtab.cli import _cpp, _shell

    root = _shell.checkout()
    checks = {
        "ruff format": [_shell.tool("ruff"), "format", "--check", "--quiet", "."],
        "ruff check": [_shell.tool("ruff"), "check", "--quiet", "."],
        "mypy": [_shell.tool("mypy"), "--no-error-summary"],
        "clang-format": [
            _shell.tool("clang-format"), "--dry-run", "--Werror", *_cpp.sources(root),
        ],
    }  # fmt: skip
    failed = []
    for name, argv in checks.items():
        code = _shell.run(argv)
        print(f"{name}: {'FAILED' if code else 'ok'}", flush=True)
        if code:
            failed.append(name)
    if tidy:
        code = _cpp.tidy(root, deep)
        print(f"clang-tidy: {'FAILED' if code else 'ok'}", flush=True)
        if code:
            failed.append("clang-tidy")
    if failed:
        raise Exit(f"lint failed: {', '.join(failed)}\n  next: ./inv format mends the formatting")


@task(name="format")
def format_(_: Context) -> None:
    """Format the Python and C++ sources in place."""
    from trimtab.cli import _cpp, _shell

    root = _shell.checkout()
    ruff = _shell.tool("ruff")
    codes = [
        _shell.run([ruff, "check", "--quiet", "--select", "I", "--fix", "."]),
        _shell.run([ruff, "format", "--quiet", "."]),
        _shell.run([_shell.tool("clang-format"), "-i", *_cpp.sources(root)]),
    ]
    if any(codes):
        raise Exit("format failed: see above")
