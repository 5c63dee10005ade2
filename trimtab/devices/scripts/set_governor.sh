#!/bin/sh
# set_governor.sh SYSFS [FILE WAS NOW]...: writes NOW into each FILE.
sysfs=$1; shift
while [ $# -ge 3 ]; do
  echo "$3" >"$sysfs/$1"
  shift 3
done
true
