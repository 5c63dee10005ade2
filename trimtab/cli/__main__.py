"""The entry point of `python -m trimtab.cli`: the users' tasks."""

from trimtab.cli import main

main()
