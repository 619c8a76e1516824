#!/usr/bin/env bash
# sinew batch: order by files, going on, what is up to date, failures, parts, and lists that cannot be.
. "$SINEW_SOURCE/test/common.sh"

# A job per line, in an order that is not that of the files.
cat > jobs.json <<'END'
{"jobs": [
 {"name": "eval", "command": "sinew eval arm.sinew --skeleton arm/skeleton.glb -o arm.pc2",
  "inputs": ["arm.sinew", "arm/skeleton.glb"], "outputs": ["arm.pc2"]},
 {"name": "train", "command": ["train", "--method", "lbs", "--rest", "arm/rest.obj", "--frames", "arm/frames.pc2",
   "--skeleton", "arm/skeleton.glb", "-o", "arm.sinew"],
  "inputs": ["arm/rest.obj", "./arm//frames.pc2", "arm/skeleton.glb"], "outputs": ["arm.sinew"]},
 {"name": "gen", "command": "gen arm --vertices 600 --frames 6 -o arm", "inputs": [], "outputs": ["arm"]},
 {"name": "bad", "command": "gen nothing -o nothing", "inputs": [], "outputs": ["nothing"]},
 {"name": "after bad", "command": "info nothing/rest.obj --json 'after bad.json'", "inputs": ["nothing/rest.obj"],
  "outputs": ["after bad.json"]},
 {"name": "bar", "command": "gen bar --frames 4 -o bar", "inputs": [], "outputs": ["bar/rest.obj", "bar/frames.pc2"]}
]}
END
expect 1 'first "bad"' "$SINEW" batch jobs.json --jobs 2 --json report.json
check test -s arm.pc2 -a -s bar/rest.obj -a -s report.json
check grep -q '"not run": 1' report.json
check grep -q 'needs \\"bad\\", which failed' report.json
check grep -q 'unknown set' jobs.json.log/bad.txt
expect 1 '4 up to date, 1 failed, 1 not run' "$SINEW" batch jobs.json

# What changed runs again, with what is made from it; the rest does not.
sed -i 's/--frames 6/--frames 7/; s/gen nothing -o nothing/gen bar --frames 3 -o nothing/' jobs.json
expect 0 '5 done, 1 up to date, 0 failed' "$SINEW" batch jobs.json
check test -s "after bad.json"
rm arm.pc2
expect 0 '1 done, 5 up to date' "$SINEW" batch jobs.json
touch arm/frames.pc2
expect 0 '3 done, 3 up to date' "$SINEW" batch jobs.json # the folder is not what gen left
expect 0 '6 up to date' "$SINEW" batch jobs.json

# Stopped in the middle, it goes on; nothing is half written.
cat > two.json <<'END'
[{"name": "quick", "command": "gen bar --frames 4 -o quick", "inputs": [], "outputs": ["quick/rest.obj"]},
 {"name": "long", "command": "gen body --vertices 300000 --frames 40 -o long", "inputs": ["quick/rest.obj"], "outputs": ["long/rest.obj"]}]
END
"$SINEW" batch two.json > /dev/null 2>&1 &
batch=$!
for _ in $(seq 1200); do [ -e two.json.log/long.txt ] && break; sleep 0.05; done
kill -TERM $batch
wait $batch 2> /dev/null
sleep 0.2
check test ! -e long/rest.obj
check test -z "$(pgrep -P $batch)"
# Killed in the moment in which a job starts, it leaves none running.
"$SINEW" gen body --vertices 15000 --frames 40 -o body --quiet
echo '[{"name": "rig", "command": "rig --rest body/rest.obj --frames body/frames.pc2 --bones 40 -o rig.glb", "inputs": [], "outputs": ["rig.glb"]}]' > rig.json
for k in $(seq 30); do
  rm -f rig.json.log/rig.txt
  "$SINEW" batch rig.json > /dev/null 2>&1 &
  batch=$!
  until [ -e rig.json.log/rig.txt ]; do :; done
  kill -KILL $batch
  wait $batch 2> /dev/null
done
sleep 0.3
left() { for p in /proc/[0-9]*; do [ "$(readlink "$p/cwd" 2> /dev/null)" = "$PWD" ] && tr '\0' ' ' < "$p/cmdline" | grep 'sinew rig'; done; }
check test -z "$(left)"
sed -i 's/300000/2000/; s/--frames 40/--frames 3/' two.json
expect 0 'quick: up to date' "$SINEW" batch two.json
check test -s long/rest.obj

# Parts: each job in one of them, those that files connect in the same.
for k in 1 2 3; do "$SINEW" batch jobs.json --part $k/3 --json part$k.json > /dev/null || fail "part $k of 3"; done
names() { grep -ho '"name": "[^"]*"' "$@" | sort; }
check test "$(names part1.json part2.json part3.json | wc -l)" = 6
check test "$(names part1.json)" = "$(printf '"name": "eval"\n"name": "gen"\n"name": "train"')"
expect 2 "give K/N" "$SINEW" batch jobs.json --part 0/3
expect 2 "give K/N" "$SINEW" batch jobs.json --part 4/3

# Lists that cannot be: refused before anything runs.
list() { echo "$1" > wrong.json; expect 1 "$2" "$SINEW" batch wrong.json; check test ! -e wrong.json.log; }
job() { echo "{\"name\": \"$1\", \"command\": \"gen bar -o x\", \"inputs\": [$2], \"outputs\": [$3]}"; }
list "[$(job a '"c"' '"a"'), $(job b '"a"' '"b"'), $(job c '"./b"' '"c"')]" 'in a cycle: "c" needs "b", "b" needs "a", "a" needs "c"'
list "[$(job a '"a"' '"a"')]" '"a" needs "a"'
list "[$(job tail '"a"' '"t"'), $(job a '"b"' '"a"'), $(job b '"a"' '"b"')]" 'in a cycle'
list "[$(job a '' '"x"'), $(job b '' '"./y/../x"')]" 'is written by "a" and "b"'
list "[$(job a '' '"x"'), $(job b '' '"x/y"')]" 'within x of "a"'
list "[$(job a '' '"x"'), $(job a '' '"y"')]" 'two jobs have the name'
list "[$(job a/b '' '"x"')]" 'without slashes'
list "[$(job a '' '')]" 'needs "outputs"'
list '[{"command": "", "inputs": [], "outputs": ["x"]}]' 'the command is empty'
list '[{"command": "gen \"x", "inputs": [], "outputs": ["x"]}]' 'a quote without its end'
list '[{"command": "batch a.json", "inputs": [], "outputs": ["x"]}]' 'a batch within a batch'
list '[{"command": "gen bar", "outputs": ["x"]}]' 'needs "inputs"'
list '[{"comand": "gen bar", "inputs": [], "outputs": ["x"]}]' 'did you mean command'
list '{"jobs": 3}' 'expected a list of jobs'
list '[' "']' expected"
expect 1 "cannot open" "$SINEW" batch none.json
echo "[$(job a '"none"' '"y"'), $(job b '' '"y2"')]" > missing.json
expect 1 'its input none is not there' "$SINEW" batch missing.json
expect 1 'succeeded without writing y2' "$SINEW" batch missing.json

finish
