#!/usr/bin/env bash
# Debian packages from a release build: tools/package.sh [BUILD] [OUT], by default build and build/packages. Packages: the tool, both
# shared libraries, their development files, the Python module.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
out=${2:-$build/packages}
version=$(sed -nE 's/.*define SN_VERSION "([^"]+)".*/\1/p' include/sinew/base.h)
soversion=${version%.*}
architecture=$(dpkg --print-architecture)
maintainer="Sinew maintainers <${DEBEMAIL:-maintainers@sinew.invalid}>" # .invalid: whoever builds it says who
# The same sources give the same packages: times are those of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out" "$work/debian"
install_root=$work/install
DESTDIR=$install_root cmake --install "$build" --prefix /usr > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
lib=$(cd "$install_root" && dirname "$(find usr/lib -name libsinew.so -print -quit)") # as the build has it: the .pc files lead there
SINEW=$build/sinew tools/manual.sh "$work/manual"

take() { # PACKAGE PATH...: from the installation into the package
  local package=$1 path
  shift
  for path; do
    mkdir -p "$work/$package/$(dirname "$path")"
    mv "$install_root"/$path "$work/$package/$(dirname "$path")/"
  done
}

copyright() {
  cat << END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Sinew

Files: *
Copyright: 2026, the Sinew maintainers
License: Expat
END
  sed -n '/^Permission/,$p' LICENSE | sed -e 's/^$/./' -e 's/^/ /'
  if [ "$1" = python3-sinew ]; then
    cat << 'END'

Files: usr/lib/python3/dist-packages/sinew/lib/libsinew-python.so
Copyright: 2026, the Sinew maintainers;
 2011-2022 The OpenBLAS Project, parts of which are linked in;
 1992-2022 The University of Tennessee and others (LAPACKE), parts of which are linked in;
 2006-2022 Timothy A. Davis (CXSparse), parts of which are linked in
License: Expat and BSD-3-clause and LGPL-2.1+
 The licenses of OpenBLAS, LAPACKE and CXSparse are in the copyright files of
 Debian's packages libopenblas0-pthread, liblapacke and libcxsparse3; the text
 of LGPL-2.1 is in /usr/share/common-licenses/LGPL-2.1.
END
  fi
}

control() { # PACKAGE SECTION DEPENDS SUMMARY TEXT
  cat << END
Package: $1
Source: sinew
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Section: $2
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$work/$1" | cut -f1)
$([ -z "$3" ] || echo "Depends: $3")
Description: $4
 $5
END
}

# Needs of the binaries of a package, from the packages that their libraries are in.
needs() {
  local root=$work/$1 binaries
  mapfile -t binaries < <(find "$root" -type f \( -name '*.so*' -o -path '*/bin/*' \) ! -name '*.py')
  [ ${#binaries[@]} -gt 0 ] || return 0
  printf 'Source: sinew\n\nPackage: %s\nArchitecture: any\n' "$1" > "$work/debian/control"
  (cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -l"$work/libsinew$soversion/$lib" \
    -l"$work/libsinew-runtime$soversion/$lib" "${binaries[@]/#/-e}" 2> "$work/shlibdeps.log" || { cat "$work/shlibdeps.log" >&2; exit 1; }) |
    sed -n 's/^shlibs:Depends=//p'
}

finish() { # PACKAGE SECTION DEPENDS SUMMARY TEXT: the .deb
  local package=$1 doc=$work/$1/usr/share/doc/$1 shared
  mkdir -p "$doc" "$work/$package/DEBIAN"
  copyright "$package" > "$doc/copyright"
  printf 'sinew (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- %s  %s\n' "$version" "$maintainer" \
    "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" | gzip -9n > "$doc/changelog.gz"
  find "$work/$package" -type f -name '*.so*' -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} + \
    -exec chmod 644 {} +
  find "$work/$package" -type f -path '*/bin/*' -exec strip --strip-all --remove-section=.comment --remove-section=.note {} +
  find "$work/$package" -type f -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
  find "$work/$package/usr" -type d -exec chmod 755 {} +
  find "$work/$package/usr" -type f ! -path '*/bin/*' -exec chmod 644 {} +
  shared=$(needs "$package")
  control "$package" "$2" "$(echo "$3${3:+${shared:+, }}$shared")" "$4" "$5" > "$work/$package/DEBIAN/control"
  sed -i '/^$/d' "$work/$package/DEBIAN/control"
  (cd "$work/$package" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums)
  find "$work/$package" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz -z"${SINEW_XZ:-6}" -b "$work/$package" "$out/${package}_${version}_$architecture.deb" > /dev/null
  echo "$out/${package}_${version}_$architecture.deb"
}

overrides() { # PACKAGE TAG REASON
  mkdir -p "$work/$1/usr/share/lintian/overrides"
  printf '# %s\n%s: %s *\n' "$3" "$1" "$2" >> "$work/$1/usr/share/lintian/overrides/$1"
}

library() { # NAME SUMMARY TEXT
  local package=$1$soversion
  printf '%s %s %s (>= %s)\n' "$1" "$soversion" "$package" "$version" > "$work/$package/DEBIAN/shlibs"
  printf 'activate-noawait ldconfig\n' > "$work/$package/DEBIAN/triggers"
  finish "$package" libs "$4" "$2" "$3"
}

# ---- the libraries
for name in libsinew-runtime libsinew; do
  take "$name$soversion" "$lib/$name.so.*"
  mkdir -p "$work/$name$soversion/DEBIAN"
done
blas_reason="OpenBLAS that threads may share, whatever the system's alternative is; and LAPACKE's own libraries must find it too"
overrides "libsinew$soversion" custom-library-search-path "$blas_reason"
library libsinew-runtime "evaluates skins that Sinew has learned" \
  "The runtime of Sinew: vertices and normals from a model and joint matrices, in
 microseconds, without allocation, input or output." ""
library libsinew "learns real-time skins from example meshes, library" \
  "The offline side of Sinew: examples from files or memory, rigging, training and
 measuring." ""

# ---- their development files
take libsinew-dev usr/include/sinew "$lib/libsinew-runtime.so" "$lib/libsinew.so" \
  "$lib/libsinew-runtime.a" "$lib/libsinew.a" "$lib/pkgconfig" "$lib/cmake"
finish libsinew-dev libdevel "libsinew$soversion (= $version), libsinew-runtime$soversion (= $version), libjansson-dev, zlib1g-dev, libopenblas-pthread-dev, liblapacke-dev, libsuitesparse-dev" \
  "learns real-time skins from example meshes, development files" \
  "Headers, static and shared libraries of Sinew and of its runtime, for CMake and
 pkg-config."

# ---- the tool
take sinew usr/bin/sinew
if [ -e "$install_root/$lib/libsinew-draco.so" ]; then
  take sinew "$lib/libsinew-draco.so"
  overrides sinew sharedobject-in-library-directory-missing-soname "a module that the tool loads for files that need it; nobody links with it"
fi
mkdir -p "$work/sinew/usr/share/man/man1" "$work/sinew/usr/share/bash-completion/completions" "$work/sinew/usr/share/zsh/vendor-completions"
for page in "$work"/manual/man1/*.1; do gzip -9n < "$page" > "$work/sinew/usr/share/man/man1/$(basename "$page").gz"; done
cp "$work/manual/bash/sinew" "$work/sinew/usr/share/bash-completion/completions/sinew"
cp "$work/manual/zsh/_sinew" "$work/sinew/usr/share/zsh/vendor-completions/_sinew"
overrides sinew custom-library-search-path "$blas_reason"
finish sinew graphics "" "learns real-time skins from example meshes" \
  "Sinew turns example meshes (simulations, scans, caches) into a small model that
 moves a mesh in microseconds, and frames without a skeleton into a rig."

# ---- the Python module
if [ -e "$build/python/libsinew-python.so" ]; then
  modules=$work/python3-sinew/usr/lib/python3/dist-packages
  mkdir -p "$modules/sinew/lib"
  cp python/sinew/*.py python/sinew/*.pyi python/sinew/py.typed "$modules/sinew/"
  cp "$build/python/libsinew-python.so" "$modules/sinew/lib/"
  printf 'Metadata-Version: 2.1\nName: sinew\nVersion: %s\nSummary: Learns a real-time skin from example meshes\nLicense: MIT\nRequires-Dist: numpy\n' \
    "$version" > "$modules/sinew-$version.egg-info"
  overrides python3-sinew custom-library-search-path "what a wheel carries lies beside it; a package has nothing there"
  overrides python3-sinew embedded-library "OpenBLAS of its own: numpy's, loaded before it, may be one that threads cannot share"
  # Compiled when installed, gone when removed, as Debian's modules are.
  printf '#!/bin/sh\nset -e\nif [ "$1" = configure ] && command -v py3compile > /dev/null; then py3compile -p python3-sinew; fi\n' \
    > "$work/postinst"
  printf '#!/bin/sh\nset -e\nif command -v py3clean > /dev/null; then py3clean -p python3-sinew; fi\n' > "$work/prerm"
  mkdir -p "$work/python3-sinew/DEBIAN"
  install -m 755 "$work/postinst" "$work/prerm" "$work/python3-sinew/DEBIAN/"
  finish python3-sinew python "python3 (>= 3.9), python3-numpy" "learns real-time skins from example meshes, Python module" \
    "Examples, rigs, training, comparison and evaluation on numpy arrays, over the
 one library of Sinew, which it carries."
fi
