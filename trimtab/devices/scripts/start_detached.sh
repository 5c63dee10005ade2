#!/bin/sh
# start_detached.sh TEXT: runs a script that outlives this connection.
if command -v setsid >/dev/null; then
  setsid sh -c "$1" </dev/null >/dev/null 2>&1 &
else
  sh -c "$1" </dev/null >/dev/null 2>&1 &
fi
true
