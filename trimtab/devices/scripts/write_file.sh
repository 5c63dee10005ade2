#!/bin/sh
# write_file.sh FILE TEXT: writes a file that others may read.
umask 022
printf '%s\n' "$2" >"$1"
