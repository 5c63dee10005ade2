"""What `./inv` starts."""

from trimtab.cli import main

main()
