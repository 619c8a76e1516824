#!/usr/bin/env bash
# The runtime stands alone: it compiles without any other header of Sinew, and its objects ask the linker for nothing but
# memcpy, memset and libm. Also compiles the scalar-only build, 64-bit ARM where clang can, and the header as C++.
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cc=${CC:-cc}

mkdir -p "$out/include/sinew"
cp "$src/include/sinew/runtime.h" "$out/include/sinew/" # nothing else of include/ can be reached
# (_GLOBAL_OFFSET_TABLE_ is the linker's own, for position-independent code.)
allowed='^(_GLOBAL_OFFSET_TABLE_|memcpy|memset|memmove|sqrtf?|sinf|cosf|atan2f|fabsf?|copysign|expf?|expm1f?|log|pow|rintf)$'

build() { # name, compiler and flags...
  local name=$1
  shift
  mkdir -p "$out/$name"
  for file in "$src"/src/runtime/*.c; do
    compile=(-c -o "$out/$name/$(basename "$file" .c).o")
    case $file in */kernel_avx*.c | */kernel_sse2.c) # ten seconds each: what they ask for is that of the release
      [ "$name" = scalar ] || compile=(-fsyntax-only) ;;
    esac
    "$@" -std=c17 -O1 -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -I"$out/include" -I"$src/src" "${compile[@]}" "$file"
  done
}

check() { # name, objects...
  local name=$1
  shift
  ${NM:-nm} -g "$@" | awk '$1 == "U" {print $2}' | sort -u > "$out/wanted"
  ${NM:-nm} -g "$@" "$SINEW_BUILD/libsinew-runtime.a" | awk 'NF == 3 && $2 != "U" {print $3}' | sort -u > "$out/own"
  local foreign
  foreign=$(comm -23 "$out/wanted" "$out/own" | grep -Ev "$allowed" || true)
  if [ -n "$foreign" ]; then
    echo "$name: the runtime needs more than memcpy, memset and libm:" $foreign
    exit 1
  fi
  echo "$name: needs only" $(comm -23 "$out/wanted" "$out/own")
}

check release "$SINEW_BUILD/libsinew-runtime.a"
build freestanding "$cc" -ffreestanding -fno-stack-protector
check freestanding "$out"/freestanding/*.o
build scalar "$cc" -DSN_SCALAR_ONLY
check scalar "$out"/scalar/*.o
echo '#include "sinew/runtime.h"' > "$out/header.cc"
${CXX:-c++} -std=c++11 -Wall -Wextra -Werror -I"$out/include" -fsyntax-only "$out/header.cc"
"$cc" -std=c99 -Wall -Wextra -Werror -I"$out/include" -fsyntax-only -x c "$out/include/sinew/runtime.h"
# The NEON kernels are C of clang too, where it has the target (only headers of the compiler are needed); test_neon compiles them.
if command -v clang > /dev/null && clang --print-targets 2> /dev/null | grep aarch64 > /dev/null; then
  mkdir -p "$out/stubs"
  printf '#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\nvoid *memset(void *, int, size_t);\n' > "$out/stubs/string.h"
  echo 'float sqrtf(float), fabsf(float);' > "$out/stubs/math.h"
  clang --target=aarch64-none-elf -ffreestanding -std=c17 -Wall -Wextra -Werror -I"$out/stubs" -I"$out/include" -I"$src/src" \
    -fsyntax-only "$src/src/runtime/kernel_neon.c"
  echo "neon: no errors"
fi
