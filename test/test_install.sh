#!/usr/bin/env bash
# Installs to a scratch prefix, then builds and runs a program against each library, through pkg-config and through
# find_package, in C and in C++.
set -euo pipefail
build=${SINEW_BUILD:-build}
source_folder=${SINEW_SOURCE:-.}
if grep -q '^SINEW_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then
  echo "skipped: sanitized libraries are not for installing"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" > "$work/install.log"

fail() { echo "FAILED: $*"; exit 1; }

# ---- what is there ----
version=$(sed -n 's/#define SN_VERSION "\(.*\)"/\1/p' "$source_folder/include/sinew/base.h")
"$prefix/bin/sinew" --version | grep -F "$version" > /dev/null || fail "the installed tool does not say $version"
for header in "$source_folder"/include/sinew/*.h; do
  name=$(basename "$header")
  [ -f "$prefix/include/sinew/$name" ] || fail "$name is not installed"
  # Every header stands on its own, in C and in C++.
  for language in c c++; do
    echo "#include <sinew/$name>" | ${CC:-cc} -x $language -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
      -I "$prefix/include" - || fail "$name alone in $language"
  done
done

# ---- the shared libraries: their names, and nothing in them that no header declares ----
libraries=$(dirname "$(find "$prefix" -name libsinew.a)")
for library in sinew-runtime sinew; do
  shared=$libraries/lib$library.so
  readelf -d "$shared" | grep -F SONAME | grep -F "[lib$library.so.${version%.*}]" > /dev/null || fail "soname of $shared"
  nm -D --defined-only "$shared" | awk '{ print $3 }' > "$work/exported"
  [ -s "$work/exported" ] || fail "$shared exports nothing"
  while read -r symbol; do
    grep -qw "$symbol" "$prefix"/include/sinew/*.h "$source_folder/src/runtime/format.h" || fail "$shared exports $symbol"
  done < "$work/exported"
done

# ---- two small programs ----
cat > "$work/runtime.c" <<'C'
#include <sinew/runtime.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  unsigned char bytes[256];
  sn_rt_model model;
  sn_rt_error error;
  memset(bytes, 0, sizeof bytes);
  if (sn_rt_open(bytes, sizeof bytes, &model, &error) == SN_RT_OK) return 1;
  printf("refused: %s\n", error.message);
  return 0;
}
C
cat > "$work/sinew.c" <<'C'
#include <sinew/examples.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  static const char text[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
  sn_context ctx = sn_context_default();
  sn_mesh mesh, back;
  if (sn_obj_parse(&ctx, "text", text, strlen(text), &mesh, NULL) != SN_OK ||
      sn_obj_write(&ctx, "out.obj", &mesh, (const float(*)[3])mesh.positions, NULL) != SN_OK ||
      sn_obj_read(&ctx, "out.obj", &back, NULL) != SN_OK) {
    fprintf(stderr, "%s\n", ctx.error.message);
    return 1;
  }
  printf("%d vertices\n", back.vertex_count);
  sn_mesh_free(&mesh);
  sn_mesh_free(&back);
  return 0;
}
C

# ---- pkg-config ----
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name sinew.pc)")
export PKG_CONFIG_PATH
cd "$work"
for library in sinew-runtime sinew; do
  program=${library#sinew-}
  [ "$(pkg-config --modversion $library)" = "$version" ] || fail "$library.pc has another version"
  # shellcheck disable=SC2046
  ${CC:-cc} $(pkg-config --cflags $library) "$program.c" -o "$program-pc" $(pkg-config --libs $library) ||
    fail "$library through pkg-config"
  readelf -d "$program-pc" | grep -F "lib$library.so.${version%.*}" > /dev/null || fail "$program-pc does not use the shared library"
  LD_LIBRARY_PATH=$libraries "./$program-pc" || fail "$program-pc"
  # shellcheck disable=SC2046
  ${CC:-cc} $(pkg-config --cflags $library) "$program.c" -o "$program-static" \
    $(pkg-config --static --libs $library | sed 's/-l\(sinew[a-z-]*\)/-l:lib\1.a/g') || fail "$library through pkg-config --static"
  readelf -d "$program-static" | grep -F libsinew > /dev/null && fail "$program-static uses a shared library"
  "./$program-static" || fail "$program-static"
done
pkg-config --static --libs sinew-runtime | grep -e openblas -e jansson > /dev/null && fail "the runtime must depend on libm alone"

# ---- find_package ----
mkdir "$work/project" "$work/alone"
cat > "$work/project/CMakeLists.txt" <<C
cmake_minimum_required(VERSION 3.22)
project(uses_sinew LANGUAGES C)
find_package(sinew ${version%.*} REQUIRED)
add_executable(runtime ../runtime.c)
target_link_libraries(runtime PRIVATE sinew::runtime)
add_executable(whole ../sinew.c)
target_link_libraries(whole PRIVATE sinew::sinew)
add_executable(whole-shared ../sinew.c)
target_link_libraries(whole-shared PRIVATE sinew::sinew-shared)
C
cat > "$work/alone/CMakeLists.txt" <<C
cmake_minimum_required(VERSION 3.22)
project(uses_runtime LANGUAGES C)
find_package(sinew REQUIRED COMPONENTS runtime)
add_executable(runtime ../runtime.c)
target_link_libraries(runtime PRIVATE sinew::runtime)
add_executable(runtime-shared ../runtime.c)
target_link_libraries(runtime-shared PRIVATE sinew::runtime-shared)
if(TARGET sinew::sinew)
  message(FATAL_ERROR "the runtime component brings the whole library")
endif()
C
for project in project alone; do
  if ! { cmake -S "$work/$project" -B "$work/$project/build" -DCMAKE_PREFIX_PATH="$prefix" &&
    cmake --build "$work/$project/build"; } > "$work/$project.log" 2>&1; then
    tail -n 30 "$work/$project.log"
    fail "find_package ($project)"
  fi
  "$work/$project/build/runtime" || fail "runtime ($project)"
done
"$work/alone/build/runtime-shared" || fail "runtime-shared"
"$work/project/build/whole" || fail "whole"
"$work/project/build/whole-shared" || fail "whole-shared"
echo "installed, linked and run: pkg-config and find_package, both libraries"
