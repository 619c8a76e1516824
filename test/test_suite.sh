#!/usr/bin/env bash
# `make suite` on one generated character with few vertices: what it measures is what `compare` measures, it resumes, it compares,
# and the stored baseline has every pair.
. "$(dirname "$0")/common.sh"
/usr/bin/python3 -c 'import numpy' 2> /dev/null || { echo "no numpy"; exit 77; }
suite() { "$SINEW_SOURCE/lab/suite/suite.py" --quick --characters elbow --pairs 'mixed >' --methods lbs:weights=given,dqs:weights=given,rigid "$@"; }
value() { /usr/bin/python3 -c "import json, sys; r = json.load(open(sys.argv[1])); print($2)" "$1"; }
error() { value "$1" "r['quick']['errors']['elbow mixed > $2']['$3']"; }

cp "$SINEW" sinew
check suite --tool ./sinew > first
check grep -q '^elbow mixed > extreme ' first
check grep -q "^Group B: error / error of the file's weights" first
check [ "$(grep -c '^\[' first)" -eq 3 ]

# The same figure as `compare` gives for the sampled mesh, which has as many vertices as allowed.
set=$SINEW_BUILD/suite/quick/elbow-
full=$SINEW_BUILD/suite/full/elbow-
"$SINEW" compare --method rigid --method lbs:weights=given --rest "${set}mixed/rest.obj" --frames "${set}mixed/frames.pc2" \
  --skeleton "${full}mixed/skeleton.glb" --test-frames "${set}extreme/frames.pc2" --test-skeleton "${full}extreme/skeleton.glb" \
  --quiet --json compare.json
holds "r[0].methods.every((m, k) => Math.abs(m.test.ee - [$(error suite.json extreme rigid), $(error suite.json extreme lbs:weights=given)][k]) < 6e-4)" compare.json
holds "report[0].input.vertices == 1500 && report[0].input.triangles > 2000" compare.json

# Existing results are not run again; those of another binary are refused by default.
check suite --tool ./sinew > again
check [ "$(grep -c '^\[' again)" -eq 0 ]
cp suite.json other.json
echo >> sinew
check suite --tool ./sinew --keep > kept
check [ "$(grep -c '^\[' kept)" -eq 0 ]
cp other.json suite.json
check suite --tool ./sinew > anew
check [ "$(grep -c '^\[' anew)" -eq 3 ]

# Ratios to another file, worst first.
/usr/bin/python3 - << 'END'
import json
r = json.load(open('other.json'))
r['quick']['errors']['elbow mixed > rom']['rigid'] /= 2
json.dump(r, open('other.json', 'w'))
END
check suite --show --out suite.json --compare other.json > compared
check grep -A2 'worst first' compared
check [ "$(grep -A2 'worst first' compared | awk 'NR == 3 { print $1, $4, $5, $6, $7, $8 }')" = "2.000 elbow mixed > rom, rigid" ]
expect 2 "no character nobody" "$SINEW_SOURCE/lab/suite/suite.py" --characters nobody
expect 1 "nothing in src depends on SN_ABLATE_NOTHING" "$SINEW_SOURCE/tools/ablate.sh" NOTHING

# The baseline: every pair of every character with every method, in few bytes.
check [ "$(wc -c < "$SINEW_SOURCE/lab/suite/baseline.json")" -lt 100000 ]
cat > whole.py << 'END'
import json, os, sys
sys.path.insert(0, os.environ['SINEW_SOURCE'] + '/lab/suite')
import suite
data, results = suite.data, json.load(open(suite.BASELINE))
pairs = [p for c in data.CHARACTERS for t in data.trainings(c) for p in suite.pairs_of(c, t)]
missing = [(mode, p, m) for mode in ('quick', 'full') for p in pairs for m in suite.METHODS
           if m not in results[mode]['errors'].get(p, {}) and (m != 'auto' or p in data.AUTO)]
print(len(pairs), 'pairs;', len(missing), 'cells missing:', missing[:5])
sys.exit(bool(missing) or len(pairs) < 90)
END
check /usr/bin/python3 whole.py
finish
