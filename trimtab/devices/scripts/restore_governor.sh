#!/bin/sh
# restore_governor.sh SYSFS [FILE WAS NOW]...: writes WAS into each FILE that still holds NOW.
. ./governor.sh
sysfs=$1; shift
while [ $# -ge 3 ]; do
  restore "$sysfs" "$1" "$2" "$3"
  shift 3
done
true
