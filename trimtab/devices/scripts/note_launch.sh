#!/bin/sh
# note_launch.sh LEASE: notes this process in the folder of its lease, or exits with 75
# (EX_TEMPFAIL) if the lease is gone. `exec` of a program afterwards keeps the noted process and its
# start time. Both are the name of an empty file, for which a full disk has room.
. ./lease_folder.sh
{
  # shellcheck disable=SC2086  # the fields are words
  enter "$1" && [ -e until ] && read -r stat </proc/$$/stat && set -- ${stat##*) } &&
    : >"runner.$$.${20}"
} 2>/dev/null || {
  echo 'the lease of the device is gone' >&2
  exit 75
}
