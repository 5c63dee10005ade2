#!/bin/sh
# Prints the free KiB of the file system of folder $1; nothing without `df`.
free_space() {
  df -Pk "$1" 2>/dev/null | { k=; while read -r _ _ _ free _; do k=$free; done; echo "$k"; }
}
