#!/usr/bin/env bash
# Both commands of the README on a bare Debian 12 with git and make only: tools/fresh.sh, as root. Makes the system
# in a separate folder, clones this checkout's last commit into it with nothing beside it (SHARED=1: with ../shared), runs
# `make demo` and `make test`, prints times and results, and removes it all. apt's and npm's settings and certificates are the
# machine's. Fails where a command fails or leaves something in the temporary folders or the checkout. Logs: build/fresh.
# TARGETS: others than these two.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
[ "$(id -u)" = 0 ] || { echo "make fresh needs root"; exit 1; }
command -v mmdebstrap > /dev/null || apt-get install -y -qq mmdebstrap > /dev/null 2>&1 || { echo "make fresh needs mmdebstrap: apt-get update && apt-get install mmdebstrap"; exit 1; }
# Separate mounts and processes, so that none outlives it.
[ "${SINEW_FRESH:-0}" = 1 ] || SINEW_FRESH=1 exec unshare --mount --propagation private --pid --fork --kill-child "$0"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/sinew-fresh-XXXXXX") || exit 1
root=$work/root logs=$PWD/build/fresh
remove() {
  for mounted in opt/shared dev/shm dev/pts dev proc; do umount -l "$root/$mounted" 2> /dev/null; done
  grep -q " $root/" /proc/self/mounts
  [ $? = 1 ] || { echo "$root: something is still mounted there; not removed"; return; }
  rm -rf --one-file-system "$work"
}
trap remove EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$logs"
git diff --quiet HEAD || echo "not committed, so not tried:" "$(git diff --name-only HEAD | tr '\n' ' ')"

make_system() {
  local options=() sources=() file
  for file in /etc/apt/apt.conf.d/*; do
    grep -qs '^ *Acquire' "$file" && options+=(--aptopt="$file")
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    grep -qs bookworm "$file" && sources+=("$file")
  done
  mmdebstrap --mode=root --variant=apt --include=git,make "${options[@]}" bookworm "$root" "${sources[@]}" > "$logs/system.log" 2>&1 ||
    { tail -n 5 "$logs/system.log"; return 1; }
  mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" && mount --bind /dev/pts "$root/dev/pts" && mount -t tmpfs tmpfs "$root/dev/shm" || return 1
  bring /etc/resolv.conf /etc/resolv.conf
  bring "${HOME:-/root}/.npmrc" /root/.npmrc
  bring "$(npm config get globalconfig 2> /dev/null)" /etc/npmrc
  bring /etc/npmrc /etc/npmrc
  bring /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates/machine.crt
  bring "${NODE_EXTRA_CA_CERTS:-}" "${NODE_EXTRA_CA_CERTS:-}"
}

# bring FILE PATH: a file of this machine, where there is one, as PATH in the system.
bring() {
  [ ! -f "$1" ] || { mkdir -p "$root$(dirname "$2")" && cp -f "$1" "$root$2"; }
}

# attempt TARGET: its time, its processor time, what it says of itself.
attempt() {
  local log=$logs/$1.log status
  TIMEFORMAT="make $1: %0R s, %U s + %S s of processors"
  time chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${NODE_EXTRA_CA_CERTS:+"NODE_EXTRA_CA_CERTS=$NODE_EXTRA_CA_CERTS"} make -C /opt/sinew "$1" > "$log" 2>&1 < /dev/null
  status=$?
  grep -E '^(set-up: |skipped|[0-9]+ passed, )' "$log" | sed 's/^/  /'
  [ $status = 0 ] || { tail -n 40 "$log"; echo "FAILED: make $1: status $status, $log"; failed=1; }
}

# Nothing is left where it does not belong.
inspect() {
  local folder left
  for folder in tmp var/tmp dev/shm; do
    left=$(find "$root/$folder" -mindepth 1 -maxdepth 1 -printf '%f ')
    [ -z "$left" ] || { echo "FAILED: left in /$folder: $left"; failed=1; }
  done
  left=$(git -C "$root/opt/sinew" -c safe.directory='*' status --porcelain)
  [ -z "$left" ] || { echo "FAILED: changed in the checkout: $left"; failed=1; }
}

failed=0
make_system && git clone -q "$PWD" "$root/opt/sinew" || { echo "FAILED: no bare system"; exit 1; }
if [ -n "${SHARED:-}" ]; then
  mkdir "$root/opt/shared"
  mount --bind ../shared "$root/opt/shared" && mount -o remount,ro,bind "$root/opt/shared" || exit 1
fi
echo "$(date -u +%F), $(git describe --always --dirty), bare Debian $(cat "$root/etc/debian_version"), $(nproc) processors${SHARED:+, with ../shared}"
for target in ${TARGETS:-demo test}; do attempt "$target"; done
inspect
exit $failed
