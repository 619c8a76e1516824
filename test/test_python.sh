#!/usr/bin/env bash
# The Python module: its own tests over the library of this build, then the wheel: installed without a network into a virtual
# environment, and used from there.
set -euo pipefail
library=$SINEW_BUILD/python/libsinew-python.so
[ -e "$library" ] || { echo "skipped: libsinew-python.so is not built (static OpenBLAS, LAPACKE or CXSparse is missing)"; exit 77; }
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import numpy, pytest, setuptools, wheel, venv, ensurepip' 2> /dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || { echo "skipped: no python3 with numpy, pytest, setuptools, wheel and venv (tools/setup.sh installs them)"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$SINEW_SOURCE/python SINEW_LIBRARY=$library "$python" -m pytest -q -p no:cacheprovider --basetemp="$work/pytest" \
  --rootdir="$SINEW_SOURCE/python" --durations=3 "$SINEW_SOURCE/python/test"

# The wheel, from a copy of what the repository holds, so that nothing is left in it.
mkdir -p "$work/source/include" "$work/source/build/python"
cp -r "$SINEW_SOURCE/python" "$SINEW_SOURCE/LICENSE" "$work/source/"
cp -r "$SINEW_SOURCE/include/sinew" "$work/source/include/"
cp "$library" "$work/source/build/python/"
"$python" -m venv --system-site-packages "$work/venv"
"$work/venv/bin/pip" install -q --no-build-isolation --no-index --no-deps --disable-pip-version-check "$work/source/python"
cd "$work"
"$SINEW" gen bar -o bar --frames 8 --quiet
"$work/venv/bin/python" - <<'PY'
import pathlib, sinew
assert "venv" in sinew.__file__
model = sinew.train("lbs", "bar/rest.obj", "bar/frames.pc2", "bar/skeleton.glb")
model.save("bar.sinew")
names = {path.name for path in (pathlib.Path(sinew.__file__).parent / "lib").iterdir()}
assert "libgfortran.so.5" in names and not any(name.startswith(("libc.", "libm.")) for name in names), names
PY
"$SINEW" train --method lbs --rest bar/rest.obj --frames bar/frames.pc2 --skeleton bar/skeleton.glb -o tool.sinew --quiet
cmp bar.sinew tool.sinew
echo "the wheel installs, and trains the command line's bytes"
