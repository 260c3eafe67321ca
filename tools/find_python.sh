#!/usr/bin/env bash
# Prints the newest Python from 3.11 to 3.14 that runs here. A name on PATH may be a shim that fails, so each
# candidate is run. As root, an interpreter that other users can execute is preferred: the worker's user must
# be able to import from its standard library.
set -u
usable() { "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; }
open_to_others() {
  local path
  path=$("$1" -c 'import os, sys; print(os.path.realpath(sys.executable))') || return 1
  while [ "$path" != / ]; do
    [ $(( $(stat -c '0%a' "$path") & 1 )) -eq 1 ] || return 1
    path=$(dirname "$path")
  done
}
fallback=
for name in python3.14 python3.13 python3.12 python3.11 python3; do
  for folder in ${PATH//:/ } /usr/local/bin /usr/bin; do
    candidate=$folder/$name
    [ -x "$candidate" ] && usable "$candidate" || continue
    if [ "$(id -u)" -ne 0 ] || open_to_others "$candidate"; then echo "$candidate"; exit 0; fi
    [ -n "$fallback" ] || fallback=$candidate
  done
done
[ -n "$fallback" ] && echo "$fallback"
exit 0
