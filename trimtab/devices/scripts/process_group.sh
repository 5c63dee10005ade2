#!/bin/sh
# Functions that end a process group. /proc is the kernel's.

# Sets `state` and `started` (in clock ticks since boot) of process $1. Fails if it has ended: a
# zombie has ended as well, since nobody may be there to reap it.
state() {
  stat=; read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  # shellcheck disable=SC2086  # the fields are words
  set -- ${stat##*) }; state=$1
  # shellcheck disable=SC2034  # lease.sh reads it
  started=${20}
  [ "$state" != Z ]
}

# Ends group $1 and prints "ended" if its leader is gone. SIGTERM for programs that clean up, SIGKILL
# a second later. Not every `kill` knows `--`; a number with `-` after a signal needs none.
end() {
  kill -15 "-$1"; i=0
  while [ $i -lt 20 ] && kill -0 "-$1" && state "$1"; do sleep 0.05; i=$((i+1)); done
  kill -9 "-$1" || kill -9 "$1"; i=0
  while state "$1"; do [ $i -ge 40 ] && return 1; sleep 0.05; i=$((i+1)); done
  echo ended
} 2>/dev/null
