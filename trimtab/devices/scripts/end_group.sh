#!/bin/sh
# end_group.sh GROUP: ends a process group; prints "ended" if that was observed.
. ./process_group.sh
end "$1"
