#!/usr/bin/env bash
# sinew stats anova as a user sees it.
. "$SINEW_SOURCE/test/common.sh"

# The document's two tables (figures 5 and 6), totals included. The arm's first deviation is misprinted.
cat > arm.csv <<'END'
f_r,f_s,mean,sd,n
linear,linear,0.00291259,0.00298195,1873
quadratic,linear,0.00293518,0.002274083,1873
cubic,linear,0.00290336,0.002221413,1873
total,linear,0.00291704,0.002240993,5619
linear,quadratic,0.0028879,0.002259423,1873
quadratic,quadratic,0.00291126,0.002310925,1873
cubic,quadratic,0.00287895,0.002252499,1873
total,quadratic,0.0028927,0.002274068,5619
linear,cubic,0.00292662,0.002232847,1873
quadratic,cubic,0.00295322,0.002276725,1873
cubic,cubic,0.00291479,0.002226049,1873
total,cubic,0.00293154,0.002244977,5619
linear,total,0.00290904,0.002239856,5619
quadratic,total,0.00293322,0.002286963,5619
cubic,total,0.00289903,0.002233015,5619
total,total,0.00291376,0.002253318,16857
END
cat > leg.csv <<'END'
f_r,f_s,mean,sd,n
linear,linear,0.00483203,0.003402375,3369
quadratic,linear,0.00478021,0.003405308,3369
cubic,linear,0.00481102,0.003389172,3369
linear,quadratic,0.00453176,0.003535153,3369
quadratic,quadratic,0.0044848,0.00353487,3369
cubic,quadratic,0.00450976,0.003524109,3369
linear,cubic,0.00490894,0.003367239,3369
quadratic,cubic,0.00485697,0.003370255,3369
cubic,cubic,0.00488836,0.003354456,3369
END
sed 's/0.00298195/0.002228195/' arm.csv > arm_corrected.csv

expect 0 "f_r: F(2, 16848) = 0.3418, p = 0.711 ns" "$SINEW" stats anova arm_corrected.csv
expect 0 "f_s: F(2, 16848) = 0.4261, p = 0.653 ns" "$SINEW" stats anova arm_corrected.csv
expect 0 "f_r * f_s: F(4, 16848) = 0.001267, p = 1.000 ns" "$SINEW" stats anova arm_corrected.csv
expect 0 "the 7 stated totals agree" "$SINEW" stats anova arm_corrected.csv
expect 0 "arm.csv:5: f_r=total, f_s=linear states sd 0.002240993" "$SINEW" stats anova arm.csv
expect 0 "the sd of f_r=linear, f_s=linear is 0.00298195, and both its totals imply 0.002228195" "$SINEW" stats anova arm.csv
expect 0 "f_s: F(2, 30312) = 33.84, p = 2.1e-15 ***, partial eta squared 0.0022" "$SINEW" stats anova leg.csv
expect 0 "Scheffe, f_s (alpha 0.05): quadratic < linear, cubic" "$SINEW" stats anova leg.csv
expect 0 "a repeated-measures test would give larger F" "$SINEW" stats anova leg.csv
expect 0 "quadratic < linear < cubic" "$SINEW" stats anova leg.csv --alpha 0.3
expect 0 '"misprint"' "$SINEW" stats anova arm.csv --json -
expect 0 '"partial_eta2": 0.00222' "$SINEW" stats anova leg.csv --json -

# Observations, unbalanced, with arbitrary names.
cat > long.csv <<'END'
"soil","plant",value
clay,öak,1.5
clay,öak,2.5
clay,ash,4
clay,ash,5
clay,ash,6.5
sand,öak,0.5
sand,öak,1
sand,ash,2
sand,ash,3.5
END
expect 0 "sums of squares are of type III" "$SINEW" stats anova long.csv
expect 0 "plant \ soil" "$SINEW" stats anova long.csv
expect 0 "ash" "$SINEW" stats anova long.csv --json long.json
if command -v node >/dev/null; then
  checks=$((checks + 1))
  "$SINEW" stats anova long.csv --json - | node -e '
    const r = JSON.parse(require("fs").readFileSync(0)), e = r.result.effects;
    // With two levels each: the contrast of the four cell means over its variance.
    const f = (2 - 15.5 / 3 - 0.75 + 2.75) ** 2 / (3 / 2 + 1 / 3) / ((0.5 + 19 / 6 + 0.125 + 1.125) / 5);
    const good = r.command === "stats" && r.input.values === 9 && r.options.alpha === 0.05 && r.result.cells.length === 4 &&
      r.result.totals.length === 5 && e.first.df_error === 5 && r.result.balanced === false && r.result.factors[1] === "plant" &&
      r.result.post_hoc.second.order[0] === "öak" && Math.abs(e.interaction.f - f) < 1e-6;
    if (!good) { console.error("FAILED: report", JSON.stringify(r, null, 1)); process.exit(1) }' || fail "the report"
fi

# Wrong input: status 1, and the place.
grep -v '^clay,ash' long.csv > hole.csv
expect 1 "hole.csv: nothing for soil=clay (first on line 2) with plant=ash (first on line 6)" "$SINEW" stats anova hole.csv
sed 's/3.5/NaN/' long.csv > nan.csv
expect 1 "nan.csv:10: 'NaN' is not a finite number (column 3)" "$SINEW" stats anova nan.csv
sed '$d' long.csv > single.csv
expect 1 "single.csv:9: the only value of soil=sand with plant=ash" "$SINEW" stats anova single.csv
sed 's/3354456,3369/3354456,1/' leg.csv > n1.csv
expect 1 "n1.csv:10: n is 1 (column 5)" "$SINEW" stats anova n1.csv
grep -v '^sand' long.csv > one.csv
expect 1 "one.csv:2: soil has only the level 'clay' (column 1)" "$SINEW" stats anova one.csv
printf 'f,g,value\na,x,1\na,x,1\na,y,1\na,y,1\nb,x,2\nb,x,2\nb,y,2\nb,y,2\n' > flat.csv
expect 1 "flat.csv: no cell has any variation" "$SINEW" stats anova flat.csv
expect 1 "none.csv" "$SINEW" stats anova none.csv

# Wrong usage: status 2.
expect 2 "usage: sinew stats" "$SINEW" stats anova
expect 2 "unknown analysis anvoa" "$SINEW" stats anvoa leg.csv
expect 2 "--alpha 2: must be between" "$SINEW" stats anova leg.csv --alpha 2
expect 0 "f_r,f_s,mean,sd,n" "$SINEW" stats --help

finish
