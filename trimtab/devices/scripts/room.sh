#!/bin/sh
# room.sh DIRECTORY: prints `free=KIB`, the free space there, and `pushed=NAME` for each pushed file.
cd "$1" || exit 1
. ./free_space.sh
echo "free=$(free_space .)"
for f in cache/*/*; do [ ! -f "$f" ] || echo "pushed=${f##*/}"; done
