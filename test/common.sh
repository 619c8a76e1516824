# Common to all scripts: a separate folder to work in, and checks that are counted. Sourced first; `finish` comes last.
set -u
dir=$(mktemp -d)
# Not in a child that a signal finds before it has become another program: bash lets it run this too.
trap '[ "$BASHPID" != $$ ] || rm -rf "$dir"' EXIT
cd "$dir" || exit 1
checks=0
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# check COMMAND...: it succeeds.
check() {
  checks=$((checks + 1))
  "$@" || fail "$*"
}

# expect STATUS TEXT COMMAND...: the command exits with STATUS and says TEXT on standard error or output.
expect() {
  local status=$1 text=$2 said got
  shift 2
  said=$("$@" 2>&1)
  got=$?
  checks=$((checks + 1))
  if [ $got -ne "$status" ] || ! grep -qF -- "$text" <<< "$said"; then
    fail "$*"
    echo "  expected status $status and '$text'; got status $got and:"
    sed 's/^/  /' <<< "$said"
  fi
}

# holds EXPRESSION FILE...: a node expression over the reports report[0], ... and what they found, r[0], ...
holds() {
  local expression=$1
  shift
  checks=$((checks + 1))
  node -e "const report = process.argv.slice(1).map(f => JSON.parse(require('fs').readFileSync(f))), r = report.map(x => x.result);
    if (!($expression)) { console.error(JSON.stringify(r, null, 1).slice(0, 4000)); process.exit(1) }" "$@" || fail "$expression"
}

finish() {
  echo "$checks checks, $failures failures"
  exit $((failures > 0))
}
