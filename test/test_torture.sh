#!/usr/bin/env bash
# The short form of `make torture`: a sample of every part.
set -eu
here=$(cd "$(dirname "$0")" && pwd)/torture
case $SINEW in *sanitize*) echo "skipped: the sanitizers have their own allocator"; exit 77 ;; esac
"$here/allocations.sh" 1
ONLY=rig-fbx "$here/allocations.sh" 15
ONLY=info-fbx "$here/allocations.sh" 15
ONLY=info-x "$here/allocations.sh" 15
"$here/kills.sh" 12
"$here/writers.sh" 2
"$here/page.sh" 30 20 || [ $? = 77 ]
