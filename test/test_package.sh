#!/usr/bin/env bash
# Debian packages: what is in them, man pages and completion for every command, what they need; lintian finds no error; and where
# debootstrap (or mmdebstrap) and a mirror are available and SINEW_CHROOT=1 is set (minutes), they are installed, used and removed
# in a clean system.
set -euo pipefail
command -v dpkg-deb dpkg-shlibdeps > /dev/null || { echo "skipped: dpkg-dev is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SINEW_XZ=0 "$SINEW_SOURCE/tools/package.sh" "$SINEW_BUILD" "$work/debs" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work"
fail() { echo "test_package: $*"; exit 1; }
deb() { ls debs/"$1"_*.deb; }
has() { dpkg-deb -c "$(deb "$1")" > list; grep -qE "$2" list || fail "$1 has no $2"; }

has sinew 'usr/bin/sinew$'
has sinew 'usr/share/bash-completion/completions/sinew$'
has sinew 'usr/share/zsh/vendor-completions/_sinew$'
has libsinew-runtime0.2 'libsinew-runtime\.so\.0\.2 -> '
has libsinew0.2 'libsinew\.so\.0\.2 -> '
has libsinew-dev 'include/sinew/runtime\.h$'
has libsinew-dev 'cmake/sinew/sinewConfig\.cmake$'
has libsinew-dev 'pkgconfig/sinew\.pc$'
has libsinew-dev 'libsinew\.a$'
dpkg-deb -f "$(deb sinew)" Depends | grep 'libc6.*libjansson4' > /dev/null || fail "sinew does not say what it needs"
[ -z "$(dpkg-deb -f "$(deb libsinew-runtime0.2)" Depends | tr , '\n' | grep -v libc6)" ] || fail "the runtime needs more than the C library"
dpkg-deb -f "$(deb libsinew0.2)" Depends | grep 'libsinew-runtime0.2' > /dev/null || fail "libsinew does not need its runtime"

# Every command has a man page without mistakes, every option is in it and in the completions.
dpkg-deb -x "$(deb sinew)" tool
commands=$("$SINEW" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
for command in $commands; do
  page=tool/usr/share/man/man1/sinew-$command.1.gz
  [ -e "$page" ] || fail "no man page of $command"
  gunzip -c "$page" > page
  "$SINEW_SOURCE/tools/tables.py" words "$command" | sed -nE 's/^(-[^\t]+)\t.*/\1/p' | while read -r option; do
    grep -qF -- "\\fB${option//-/\\-}\\fR" page || fail "sinew-$command.1 says nothing about $option"
  done
done
if command -v groff > /dev/null; then
  for page in tool/usr/share/man/man1/*.gz; do
    [ -z "$(gunzip -c "$page" | groff -man -Tutf8 -ww -z 2>&1)" ] || fail "$(basename "$page"): $(gunzip -c "$page" | groff -man -Tutf8 -ww -z 2>&1 | head -1)"
  done
fi
complete_words() { # what bash offers after these words
  bash -c '. tool/usr/share/bash-completion/completions/sinew; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sinew; echo "${COMPREPLY[*]}"' - "$@"
}
[ "$(complete_words sinew tra)" = train ] || fail "bash completes 'sinew tra' to '$(complete_words sinew tra)'"
[ "$(complete_words sinew train --method rotr)" = rotreg ] || fail "bash does not complete methods"
[ "$(complete_words sinew rig --bone-t)" = --bone-type ] || fail "bash does not complete options"
if command -v zsh > /dev/null; then zsh -n tool/usr/share/zsh/vendor-completions/_sinew; fi

# Development files by pkg-config and CMake, static and shared, are test_install.sh's; here: where packages have them.
mkdir dev && for p in libsinew-dev libsinew0.2 libsinew-runtime0.2; do dpkg-deb -x "$(deb $p)" dev; done
lib=$(dirname "$(find dev/usr/lib -name sinew.pc)")/..
flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs sinew-runtime)
cc -o minimal "$SINEW_SOURCE/examples/minimal.c" $flags -lm -Wl,-rpath,"$(realpath "$lib")"
ldd minimal | grep 'libsinew-runtime.so.0.2 => /' > /dev/null || fail "the shared runtime is not the one that is used"

# The module as it is installed.
if ls debs/python3-sinew_*.deb > /dev/null 2>&1 && /usr/bin/python3 -c 'import numpy' 2> /dev/null; then
  dpkg-deb -x "$(deb python3-sinew)" module
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=module/usr/lib/python3/dist-packages /usr/bin/python3 -c '
import sinew
assert "module/usr" in sinew.__file__ and "lbs" in sinew.methods()'
fi

if command -v lintian > /dev/null; then # it leaves files in the temporary folder
  TMPDIR=$work lintian --allow-root --fail-on error debs/*.deb > lintian.log 2>&1 || { cat lintian.log; fail "lintian finds errors"; }
  echo "lintian: no errors"
fi

if [ "${SINEW_CHROOT:-0}" != 1 ]; then
  echo "not installed in a clean system: SINEW_CHROOT=1 asks for that"
elif [ "$(id -u)" != 0 ] || ! command -v mmdebstrap debootstrap > /dev/null; then
  echo "not installed in a clean system: needs root and mmdebstrap or debootstrap"
else
  bash "$SINEW_SOURCE/test/package_chroot.sh" "$work"
fi
