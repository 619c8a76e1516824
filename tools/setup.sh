#!/bin/sh
# Installs the Debian packages that are missing: tools/setup.sh [build | python | test | mpi]. `build` is what makes the tool and its page;
# `python` adds what the wheel and the Blender add-on are made with, `test` what the tests, the checks and the packages need, `mpi` what
# several processes need.
# SINEW_NO_INSTALL=1: print the exact command and stop instead.
set -eu

packages="
build-essential: the C compiler
cmake: the build system
ninja-build: runs the build
pkg-config: finds libraries
libjansson-dev: JSON, for glTF
libassimp-dev: Collada, BVH and others
libmeshoptimizer-dev: compressed glTF (EXT_meshopt_compression)
libdraco-dev: compressed glTF (Draco)
zlib1g-dev: packed arrays of FBX, compression of what a page holds
libopenblas-pthread-dev: dense linear algebra, safe to call from several threads
liblapacke-dev: factorisations
libsuitesparse-dev: sparse Cholesky (CXSparse)
clang: the page's WebAssembly
libclang-rt-14-dev-wasm32: compiler support for WebAssembly
lld: the WebAssembly linker
wasi-libc: the C library for WebAssembly
nodejs: bundles the page
npm: fetches what the page is made with
ca-certificates: whom npm trusts
"

python="
python3-numpy: the Python module
python3-setuptools: its wheel
python3-wheel: its wheel
python3-pip: builds the wheel
"

case ${1:-build} in
build) ;;
python) packages="$packages$python" ;;
test) packages="$packages$python
libcmocka-dev: unit tests
libclang-rt-14-dev: fuzzing
clang-format: the format check
gcc-aarch64-linux-gnu: the runtime for 64-bit ARM
libc6-dev-arm64-cross: its C library
qemu-user: running it, and running on processors without AVX-512
chromium: tests of the page
lintian: checks of the Debian packages
python3-pytest: tests of the Python module
python3-venv: installing the wheel in a test
" ;;
mpi) packages="$packages
openmpi-bin: runs several processes
libopenmpi-dev: builds for them
" ;;
*) echo "usage: tools/setup.sh [build | python | test | mpi]" >&2; exit 2 ;;
esac

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# Node may come from elsewhere than Debian; what counts is that the commands are there.
present() {
  case $1 in
  nodejs) command -v node >/dev/null || installed nodejs ;;
  npm) command -v npm >/dev/null || installed npm ;;
  *) installed "$1" ;;
  esac
}

missing=
reasons=
old_ifs=$IFS
IFS='
'
for line in $packages; do
  name=${line%%:*}
  if ! present "$name"; then
    missing="$missing $name"
    reasons="$reasons  $name:${line#*:}
"
  fi
done
IFS=$old_ifs
[ -n "$missing" ] || exit 0

# Another apt may be at work (unattended upgrades on a fresh machine): wait for it.
command="apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends$missing"
if [ "${SINEW_NO_INSTALL:-0}" = 1 ]; then
  echo "Sinew needs packages that are not installed. Run:" >&2
  echo "  sudo apt-get update && sudo $command" >&2
  exit 1
fi
echo "Installing what is missing:"
printf '%s' "$reasons"
sudo=
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Neither root nor sudo. As root, run:" >&2
    echo "  apt-get update && $command" >&2
    exit 1
  fi
  sudo=sudo
fi
export DEBIAN_FRONTEND=noninteractive
start=$(date +%s)
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo $command --download-only > /dev/null
fetched=$(date +%s)
# shellcheck disable=SC2086
$sudo $command > /dev/null
echo "set-up: $((fetched - start)) s to download packages, $(($(date +%s) - fetched)) s to install them"
