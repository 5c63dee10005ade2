#!/bin/sh
# set_governor.sh [FILE WAS NOW]...: writes NOW into each FILE.
while [ $# -ge 3 ]; do
  echo "$3" >"$1"
  shift 3
done
true
