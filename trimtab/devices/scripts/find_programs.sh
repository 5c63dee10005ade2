#!/bin/sh
# find_programs.sh NAME...: prints the names of the programs that exist.
for p in "$@"; do command -v "$p" >/dev/null && echo "$p"; done
true
