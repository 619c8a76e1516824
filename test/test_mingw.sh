#!/usr/bin/env bash
# The runtime for Windows: its headers have no GNU extensions and compile as for MSVC, it compiles with mingw-w64, and under wine all its paths agree with each
# other and with the positions kept in models; examples/minimal.c prints what it prints here.
. "$(dirname "$(realpath "$0")")/common.sh"
source_folder=${SINEW_SOURCE:?}
for header in runtime cuda; do
  msvc="clang --target=x86_64-pc-windows-msvc -ffreestanding"
  for language in "${CC:-cc} -x c -std=c17" "${CXX:-c++} -x c++ -std=c++11" "clang -x c -std=c17" "clang -x c++ -std=c++11" "$msvc -x c -std=c17" \
    "$msvc -x c++ -std=c++14"; do
    command -v ${language%% *} > /dev/null || continue
    echo "#include \"sinew/$header.h\"" | check $language -pedantic-errors -Wall -Wextra -Werror -I"$source_folder/include" -fsyntax-only -
  done
done
compiler=x86_64-w64-mingw32-gcc
if ! command -v $compiler > /dev/null || ! command -v wine > /dev/null; then
  [ $failures = 0 ] || finish
  echo "skipped: needs gcc-mingw-w64-x86-64 and wine64 (Debian)"
  exit 77
fi

# gcc does not align the stack to 32 bytes on Windows: the assembler takes moves that need no alignment.
flags=(-std=c17 -O1 -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Wa,-muse-unaligned-vector-move
  -I"$source_folder/include" -I"$source_folder/src")
check xargs -P 2 -n 1 $compiler "${flags[@]}" -c < <(printf '%s\n' "$source_folder"/src/runtime/*.c)
check $compiler "${flags[@]}" "$source_folder/test/paths_driver.c" ./*.o -o paths.exe
check $compiler "${flags[@]}" "$source_folder/examples/minimal.c" ./*.o -o minimal.exe
[ $failures = 0 ] || finish
"$SINEW" gen arm --vertices 700 --frames 6 -o arm --quiet
for spec in lbs:pack=1,vertex_order=blocks dqs psd rotreg:bones=8,pack=1; do
  check "$SINEW" train --method "$spec" --rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb -o "${spec//[:=,]/-}.sinew" --quiet
done
cp "$source_folder"/test/golden/*.sinew .
export WINEPREFIX=$dir/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=" DISPLAY=
check timeout 600 wine paths.exe any ./*.sinew
check timeout 60 wine minimal.exe packed.sinew | tr -d '\r' > there.txt
grep -q '^200 vertices, 6 joints' there.txt || fail "examples/minimal.c under wine: $(cat there.txt)"
wineserver -k 2> /dev/null
finish
