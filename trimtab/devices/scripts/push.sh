#!/bin/sh
# push.sh FILE NEED_KIB DIGEST READER...: stores what READER reads from stdin as FILE.
#
# Exit codes: 81 no room, 82 the content does not have the SHA-256 DIGEST, 83 READER failed. FILE
# appears complete or not at all.
LC_ALL=C; export LC_ALL; umask 077
file=$1; need=$2; digest=$3; shift 3
part=$file.$$.part
folder=${file%/*}
mkdir -p "$folder" || exit 1
. ./free_space.sh
free=$(free_space "$folder")
[ "${free:-x}" -lt "$need" ] 2>/dev/null && exit 81
trap 'rm -f "$part"' EXIT; trap 'exit 1' HUP INT TERM
"$@" >"$part" || exit 83
case "$(sha256sum <"$part")" in "$digest"*) ;; *) exit 82 ;; esac
chmod 755 "$part" && mv -f "$part" "$file"
