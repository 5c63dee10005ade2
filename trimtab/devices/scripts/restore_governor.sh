#!/bin/sh
# restore_governor.sh [FILE WAS NOW]...: writes WAS into each FILE that still holds NOW.
while [ $# -ge 3 ]; do
  read -r current <"$1" && [ "$current" = "$3" ] && echo "$2" >"$1"
  shift 3
done
true
