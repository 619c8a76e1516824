#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the methods and writes their tables: tools/measure.py [--tables] [NAME...], `make measurements`.

Results go to docs/measurements/NAME.json, with commit, processor and date, and from there into docs/measurements.md, between
<!-- measured NAME --> and <!-- end of measured -->. --tables only renews the tables. SINEW is the tool (build/sinew unless told).
"""
import datetime
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(os.environ.get("SINEW_MEASUREMENTS", ROOT / "docs/measurements.md"))
SINEW = os.environ.get("SINEW", str(ROOT / "build/sinew"))
DATA = Path(os.environ.get("SINEW_DATA", ROOT.parent / "shared/data"))
METHODS = ["rigid", "lbs", "lbs:extra=halfway", "dqs", "cor", "psd", "psd:blend=dualquat", "eigenskin", "rotreg", "torque", "affine"]
PUBLISHED = ["lbs", "rotreg:published=1", "rotreg:published=1,full=1", "rotreg"]
TORQUE = ["lbs", "rotreg", "torque:degree_r=1,degree_s=1", "torque", "torque:published=1"]
OTHERS = ["lbs", "dqs", "hejl", "alexa", "sbs", "sbs:weights=given", "mohr", "animspace", "mwe"]
BONES = ["", "stretch=1", "beta=1e6", "stretch=1,poisson=0", "poisson=0", "published=1", "published=1,stretch=0", "published=1,stretch=0,poisson=0"]
POINTS = (1, 2, 3, 4, 6, 8, 12)
MOTION = ["lbs:weights=given", "lbs", "dqs", "psd", "psd:blend=dualquat", "eigenskin", "rotreg"]


def run(folder, *words):
    report = Path(folder) / "report.json"
    subprocess.run([SINEW, *words, "--quiet", "--json", str(report)], cwd=folder, check=True)
    return json.loads(report.read_text())["result"]


def gen(folder, name, *words):
    subprocess.run([SINEW, "gen", *words, "-o", name, "--quiet"], cwd=folder, check=True)


def files(name, prefix="--"):
    return [f"{prefix}frames", f"{name}/frames.pc2", f"{prefix}skeleton", f"{name}/skeleton.glb"]


def figures(row, lbs):
    keep = lambda m: m and {k: m[k] for k in ("rms_pct_diag", "max_pct_diag", "ee", "normal_deg")}
    return {"spec": row["spec"], "train": keep(row["train"]), "test": keep(row["test"]), "bytes": row["bytes"],
            "times_lbs": row["us_per_frame"] and row["us_per_frame"] / lbs["us_per_frame"], "seconds": row["seconds"]}


def compare_rows(folder, specs, *words):
    return run(folder, "compare", *[w for spec in specs for w in ("--method", spec)], *words)["methods"]


def compare(folder, specs, *words):
    rows = compare_rows(folder, specs, *words)
    lbs = next(row for row in rows if row["spec"] == "lbs")
    return [figures(row, lbs) for row in rows]


def arm(folder):
    gen(folder, "arm", "arm")
    return compare(folder, METHODS, "--rest", "arm/rest.obj", *files("arm"), "--torque", "arm/torque.csv", "--controls",
                   "arm/controls.txt", "--keys", "every:4")


def motion(folder):
    gen(folder, "rom", "athlete", "--motion", "rom")
    gen(folder, "own", "athlete")
    return compare(folder, MOTION, "--rest", "own/rest.obj", *files("rom"), *files("own", "--test-"))


def between(folder, specs, sets, keys, *words):
    """Enveloping errors on the test frames of generated sets: a row per set."""
    rows = []
    for title, (name, *options) in sets.items():
        gen(folder, title, name, *options)
        told = [w.replace("SET", title) for w in words]
        found = compare(folder, specs, "--rest", f"{title}/rest.obj", *files(title), "--keys", keys, *told)
        rows.append({"set": title, **{row["spec"]: row["test"]["ee"] for row in found}})
    return rows


def small(*names):
    return {name: [name] + ([] if name == "bar" else ["--vertices", "2000"]) for name in names}


def published(folder):
    return between(folder, PUBLISHED, small("bar", "elbow", "arm", "shoulder"), "every:4")


def torque(folder):
    sets = {f"{name}-{seed}": [name, "--vertices", "2000", "--frames", "60", "--seed", str(seed)] for name in ("arm", "leg") for seed in (1, 2, 3)}
    return between(folder, TORQUE, sets, "every:2", "--torque", "SET/torque.csv")


def bones(folder):
    """Control points: test rms error in % of the diagonal, a row per set of Kim 2010's counts, a column per spec."""
    rows = []
    for name, vertices, frames, keys, count in (("cylinder", 2000, 40, 4, 50), ("arm", 5256, 50, 5, 100), ("leg", 2210, 86, 19, 100)):
        gen(folder, name, name, "--vertices", str(vertices), "--frames", str(frames))
        training = ",".join(str(round(k * (frames - 1) / (keys - 1))) for k in range(keys))
        found = compare_rows(folder, [f"affine:bones={count}{spec and ','}{spec}" for spec in BONES], "--rest", f"{name}/rest.obj", "--frames",
                             f"{name}/frames.pc2", "--controls", f"{name}/controls.txt", "--keys", training)
        rows.append({"set": name, **{"affine" + (spec and ":") + spec: row["test"]["rms_pct_diag"] for spec, row in zip(BONES, found)}})
    return rows


def points(folder):
    """Chosen control points: rms error in % of the diagonal, 12 training frames, a row per set. The gallop repeats itself after 24 frames."""
    rows = []
    for name, frames in (("pdance", 201), ("horse-gallop", 24)):
        data = (DATA / name / "frames.pc2").read_bytes()
        size = 12 * frames * struct.unpack_from("<i", data, 16)[0]
        Path(folder, "cut.pc2").write_bytes(data[:28] + struct.pack("<i", frames) + data[32:32 + size])
        keys = ",".join(str(round(k * (frames - 1) / 11)) for k in range(12))
        words = ["--rest", str(DATA / name / "rest.obj"), "--frames", "cut.pc2", "--keys", keys]
        found = [compare_rows(folder, ["affine"], *words, "--controls", f"auto:{count}")[0] for count in POINTS]
        rows.append({"set": name, **{part: [r[part]["rms_pct_diag"] for r in found] for part in ("test", "train")}})
    return rows


def points_table(rows):
    yield "| control points | " + " | ".join(map(str, POINTS)) + " |"
    yield "| --- |" + " ---: |" * len(POINTS)
    for row in rows:
        for part, title in (("test", "test"), ("train", "training")):
            yield f"| {row['set']}, {title} | " + " | ".join(f"{x:.2f}" for x in row[part]) + " |"


def others(folder):
    rows = between(folder, OTHERS, small("bar", "elbow", "arm", "shoulder", "athlete"), "every:4")
    for clip in ("rom", "mixed"):
        gen(folder, clip, "athlete", "--vertices", "2000", "--motion", clip)
    found = {"athlete rom, mixed": compare(folder, OTHERS, "--rest", "rom/rest.obj", *files("rom"), *files("mixed", "--test-"))}
    character = lambda name: str(DATA / f"cheburashka-{name}")
    for one, other in (("rom", "pose"), ("pose", "pose-b")) if DATA.is_dir() else ():
        found[f"cheburashka {one}, {other}"] = compare(folder, OTHERS, "--rest", f"{character(one)}/rest.obj", *files(character(one)),
                                                       *files(character(other), "--test-"))
    return rows + [{"set": title, **{row["spec"]: row["test"]["ee"] for row in found[title]}} for title in found]


def method_table(rows):
    yield "| method | training ee | test ee | test rms, % | largest, % | normals, ° | bytes | times lbs |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for r in rows:
        t = r["test"]
        yield (f"| `{r['spec']}` | {r['train']['ee']:.3f} | {t['ee']:.3f} | {t['rms_pct_diag']:.3f} | {t['max_pct_diag']:.2f} | {t['normal_deg']:.2f} | "
               f"{r['bytes']:,} | {r['times_lbs']:.1f} |")


def error_table(rows):
    """A row per method, a column per set."""
    yield "| | " + " | ".join(row["set"] for row in rows) + " |"
    yield "| --- |" + " ---: |" * len(rows)
    for spec in list(rows[0])[1:]:
        yield f"| `{spec}` | " + " | ".join(f"{row[spec]:.3f}" for row in rows) + " |"


MEASURED = {"arm": (arm, method_table), "motion": (motion, method_table), "published": (published, error_table),
            "torque": (torque, error_table), "others": (others, error_table), "bones": (bones, error_table), "points": (points, points_table)}


def processor():
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def measure(name):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        rows = MEASURED[name][0](folder)
    about = {"commit": commit, "processor": processor(), "date": datetime.date.today().isoformat(), "rows": rows}
    path = ROOT / f"docs/measurements/{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(about, indent=1) + "\n")


def tables(pages):
    def table(match):
        name = match.group(1)
        path = ROOT / f"docs/measurements/{name}.json"
        if not path.exists():
            return match.group(0)
        about = json.loads(path.read_text())
        recorded = isinstance(about["rows"][0], str)  # the lines of a table that another program printed
        rows = [re.sub(r"(?<![\w.])\d{5,}\b", lambda n: f"{int(n.group()):,}", line) for line in about["rows"]] if recorded else MEASURED[name][1](about["rows"])
        lines = [*rows, "", f"({about['date']}, commit {about['commit']}, {about['processor']}.)"]
        return "\n".join([f"<!-- measured {name} -->", *lines, "<!-- end of measured -->"])

    for page in pages:
        page.write_text(re.sub(r"<!-- measured ([\w-]+) -->.*?<!-- end of measured -->", table, page.read_text(), flags=re.DOTALL))


def main(names, pages):
    """Measures the names of the command line, or all of `names`, unless --tables; then renews the tables of the pages."""
    chosen = [word for word in sys.argv[1:] if word != "--tables"]
    if not set(chosen) <= set(MEASURED):
        sys.exit(f"usage: {sys.argv[0]} [--tables] [NAME...], of {' '.join(names)}")
    if "--tables" not in sys.argv:
        for name in chosen or names:
            measure(name)
    tables(pages)


if __name__ == "__main__":
    main(list(MEASURED), [PAGE])
