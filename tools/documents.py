#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tables of the five documents beside what Sinew measures: tools/documents.py [--tables] [NAME...], part of `make figures`.

Results go to docs/measurements/NAME.json, with commit, processor and date, and from there into docs/figures/*.md. SINEW_FIGURES is another
folder of pages. Generated sets stand in for data that cannot be had.
"""
import array
import csv
import functools
import json
import math
import os
import re
import struct
import subprocess
import tempfile
from pathlib import Path
from random import Random

import chart
from measure import DATA, MEASURED, POINTS, ROOT, between, compare_rows, error_table, files, gen, main, run, small

PAGES = Path(os.environ.get("SINEW_FIGURES", ROOT / "docs/figures"))

# ---- Wang, Pulli and Popovic 2007, table 1 ---------------------------------------------------------------------------------

# Example: vertices, joints, proxy bones, poses, flops (theirs, SSD), frames per second, bytes, seconds of training; the set that stands in.
WANG = {
    "James": (11106, 73, 80, 31, 5.1, 2.6, 595, 1000, "5.2M", "530K", 360, "body"),
    "Drago": (12500, 16, 80, 49, 5.0, 2.9, 618, 1030, "4.2M", "600K", 420, "body"),
    "Gorilla": (25438, 61, 100, 46, 9.9, 5.9, 449, 673, "8.1M", "1.2M", 1080, "body"),
    "Dragon Leg": (2210, 14, 40, 9, 1.0, 0.5, 681, 1144, "1.1M", "110K", 35, "body"),
    "T-Rex": (29380, 155, 60, 11, 9.4, 6.8, 443, 583, "5.8M", "1.4M", 360, "body"),
    "Elbow": (2610, 2, 30, 3, 1.0, 0.6, 685, 1164, "880K", "130K", 30, "elbow"),
    "Bar": (80, 2, 25, 3, 0.2, 0.0, 711, 1228, "310K", "3K", 5, "bar"),
    "Muscle Arm": (5256, 3, 30, 4, 2.0, 1.2, 692, 1200, "860K", "250K", 50, "arm"),
    "Shoulder": (2610, 2, 40, 10, 1.0, 0.6, 690, 1172, "880K", "130K", 30, "shoulder"),
}
WANG_KEYS = {"elbow": "every:20", "bar": "every:20", "arm": "0,16,33,49", "shoulder": "every:6"}


def wang(folder):
    rows = []
    for name, (vertices, joints, bones, poses, *_, kind) in WANG.items():
        gen(folder, "set", kind, *(["--vertices", str(vertices), "--joints", str(joints), "--frames", str(poses)] if kind == "body" else []))
        specs = ["lbs", f"rotreg:published=1,bones={bones}", f"rotreg:bones={bones}"]
        found = compare_rows(folder, specs, "--rest", "set/rest.obj", *files("set"), "--keys", WANG_KEYS.get(kind, "all"))
        rows.append({"name": name, "models": [{k: r[k] for k in ("flops", "us_per_frame", "bytes", "seconds")} for r in found]})
    return rows


def wang_table(rows):
    yield ("| example | vertices, joints, proxy bones, poses | Mflops: theirs | published=1 | rotreg | over SSD: theirs | published=1 | rotreg | SSD time / RR time: "
           "theirs | published=1 | rotreg | bytes: theirs | published=1 | rotreg | training, s: theirs | published=1 | rotreg |")
    yield "| --- | --- |" + " ---: |" * 15
    for row in rows:
        vertices, joints, bones, poses, flops, ssd_flops, fps, ssd_fps, size, _, seconds, _ = WANG[row["name"]]
        lbs, *ours = row["models"]
        three = lambda first, value: [first, *(value(m) for m in ours)]
        cells = [*three(f"{flops}", lambda m: f"{m['flops'] / 1e6:.1f}"),
                 *three(f"{flops / ssd_flops:.1f}" if ssd_flops else "-", lambda m: f"{m['flops'] / lbs['flops']:.1f}"),
                 *three(f"{fps / ssd_fps:.2f}", lambda m: f"{lbs['us_per_frame'] / m['us_per_frame']:.2f}"),
                 *three(size, lambda m: f"{m['bytes']:,}"), *three(str(seconds), lambda m: f"{m['seconds']:.1f}")]
        yield f"| {row['name']} | {vertices:,}, {joints}, {bones}, {poses} | " + " | ".join(cells) + " |"
    yield ""
    yield "| example | frames per second, SSD: theirs | `lbs` | RR: theirs | `rotreg:published=1` | `rotreg` | Mflops, SSD: theirs | `lbs` | bytes, SSD: theirs | `lbs` |"
    yield "| --- |" + " ---: |" * 9
    for row in rows:
        ssd_flops, fps, ssd_fps, _, ssd_size = WANG[row["name"]][5:10]
        lbs, published, own = (f"{1e6 / m['us_per_frame']:,.0f}" for m in row["models"])
        plain = row["models"][0]
        yield f"| {row['name']} | {ssd_fps:,} | {lbs} | {fps} | {published} | {own} | {ssd_flops} | {plain['flops'] / 1e6:.1f} | {ssd_size} | {plain['bytes']:,} |"


# Figure 12 and section 7.1: leave-one-out errors. Bodies with the joints and poses of the examples, and characters instead of scans: title, set (or folder of the
# data), its options, poses.
LEFT_OUT = {
    "James: 73 joints, every third of 31 poses": ("body", ["--vertices", "2000", "--joints", "73", "--frames", "31"], "every:3"),
    "Drago: 16 joints, every fourth of 49 poses": ("body", ["--vertices", "2000", "--joints", "16", "--frames", "49"], "every:4"),
    "Gorilla: 61 joints, every fourth of 46 poses": ("body", ["--vertices", "2000", "--joints", "61", "--frames", "46"], "every:4"),
    "fox, run: 18 poses": ("fox-run", None, "every:2"), "CesiumMan, walk: 11 poses": ("cesiumman-walk", None, "every:6"),
}


def left_out(folder):
    rows = []
    for title, (name, words, keys) in LEFT_OUT.items():
        place = "set" if words else str(DATA / name)
        if words:
            gen(folder, "set", name, *words)
        found = compare_rows(folder, LEFT_OUT_METHODS, "--loocv", "--rest", f"{place}/rest.obj", *files(place), "--keys", keys)
        rows.append({"set": title, "models": {r["spec"]: {"train": r["train"]["ee"], "test": r["test"]["ee"], "max": r["test"]["max_pct_diag"]} for r in found}})
    return rows


def left_out_table(rows):
    yield "| | " + " | ".join(f"`{m}`: training ee | leave-one-out ee | largest, %" for m in LEFT_OUT_METHODS) + " |"
    yield "| --- |" + " ---: |" * (3 * len(LEFT_OUT_METHODS))
    for row in rows:
        yield f"| {row['set']} | " + " | ".join(f"{m['train']:.3f} | {m['test']:.3f} | {m['max']:.2f}" for m in row["models"].values()) + " |"


def scans(folder):
    """SCAPE's registered scans, of which the paper's Drago is: a skeleton of as many joints found by `rig`, trained on 49 poses, tested on 21."""
    place, path = Path(os.environ.get("SINEW_MORE_DATA", DATA)) / "scape", ROOT / "docs/measurements/scans.json"
    if not place.is_dir():
        return json.loads(path.read_text())["rows"]
    run(folder, "rig", "--rest", f"{place}/rest.obj", "--frames", f"{place}/frames.pc2", "--bones", "16", "--keep-bones", "-o", "rig.glb")
    found = compare_rows(folder, LEFT_OUT_METHODS, "--rest", "rig.glb", "--frames", f"{place}/frames.pc2", "--skeleton", "rig.glb", "--keys", "0-48")
    return [{"method": r["spec"], **{part: {k: r[part][k] for k in ("ee", "max_pct_diag", "normal_deg")} for part in ("train", "test")}} for r in found]


def scans_table(rows):
    yield "| | training ee | test ee | largest, % | normals, degrees |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for r in rows:
        yield f"| `{r['method']}` | {r['train']['ee']:.3f} | {r['test']['ee']:.3f} | {r['test']['max_pct_diag']:.2f} | {r['test']['normal_deg']:.1f} |"


# Figures 6, 7, 11, 13 and 14: the numbers that the program of `make figures` writes beside its pictures.

FIGURES_13 = {"figure-13-bar": "bar", "figure-13-elbow": "elbow, 180° twist", "figure-13-bent": "bent, 180° twist", "figure-13-own": "elbow, 100° twist"}


@functools.cache
def study():
    """The tables that the program build/figures writes into the folder figures, beside its drawings: name to rows."""
    folder = ROOT / "figures"
    subprocess.run([str(Path(os.environ.get("BUILD", ROOT / "build")) / "figures"), str(folder)], check=True, stdout=subprocess.DEVNULL)
    return {path.stem: list(csv.DictReader(open(path, encoding="utf-8"))) for path in folder.glob("*.csv")}


def figure_6(folder):
    """What the triangles say: u of the joint's rotation, and the angles to the true rotations."""
    columns = {"u": "u", "regression": "regression error in degrees", "lbs": "lbs error in degrees"}
    values = {name: [float(row[column]) for row in study()["figure-6-triangles"]] for name, column in columns.items()}
    widths = {"u": 0.1, "regression": 2, "lbs": 2}
    bins = {name: [100 * sum(min(int(x / width), 14) == k for x in values[name]) / len(values[name]) for k in range(15)] for name, width in widths.items()}
    part = lambda name, low, high: 100 * sum(low <= x < high for x in values[name]) / len(values[name])
    return [{"name": name, "bins": bins[name], "mean": sum(values[name]) / len(values[name]), "low": part(name, 0, 0.1 if name == "u" else 2),
             "middle": part(name, 0.1, 0.9)} for name in columns]


def figure_6_table(rows):
    u, *angles = rows
    yield "| u of the joint's rotation | % of the triangles |"
    yield "| --- | ---: |"
    for title, share in (("below 0.1", u["low"]), ("between", u["middle"]), ("0.9 and more", 100 - u["low"] - u["middle"])):
        yield f"| {title} | {share:.0f} |"
    yield ""
    yield "| angle to the true rotation, mean of three poses that were not trained on | mean, degrees | within two degrees, % of the triangles |"
    yield "| --- | ---: | ---: |"
    for row, title in zip(angles, ("rotational regression", "linear blend skinning")):
        yield f"| {title} | {row['mean']:.1f} | {row['low']:.0f} |"


def figure_6_u_picture(rows):
    places = [f"{k / 10:g}" + ("+" if k == 14 else "") for k in range(15)]
    return chart.bars("Figure 6: the part u of its joint's rotation that a triangle takes", ("u, from this value on", "% of the triangles"), places,
                      {"triangles": rows[0]["bins"]})


def figure_6_picture(rows):
    places = [f"{2 * k}" + ("+" if k == 14 else "") for k in range(15)]
    labels = ("angle to the true rotation, degrees, from this value on (mean of three test poses)", "% of the triangles")
    return chart.bars("Figure 6: errors of the predicted rotations", labels, places,
                      {"rotational regression": rows[1]["bins"], "linear blend skinning": rows[2]["bins"]})


def figure_7(folder):
    rows = study()["figure-7"]
    return [{"name": name, "rms": [float(row[name]) for row in rows]} for name in list(rows[0])[1:]]


def figure_7_table(rows):
    worst = max(range(len(rows[0]["rms"])), key=lambda f: rows[0]["rms"][f])
    yield f"| rms error, % of the diagonal | all frames | frame {worst} |"
    yield "| --- | ---: | ---: |"
    for row in rows:
        yield f"| {row['name']} | {math.sqrt(sum(x * x for x in row['rms']) / len(row['rms'])):.2f} | {row['rms'][worst]:.2f} |"


def figure_7_picture(rows):
    return chart.lines("Figure 7: drift of the reconstructed mesh", ("frame", "rms error, % of the diagonal"), {row["name"]: list(enumerate(row["rms"])) for row in rows})


# Sets and training frames: those of table 1 where a set stands for one of its examples.
FIGURE_11 = {"bar": "every:20", "elbow": "every:20", "arm": "0,16,33,49", "shoulder": "every:6", "leg": "every:10", "athlete": "every:4"}
FIGURE_11_METHODS = ["lbs", "rotreg:published=1", "rotreg:published=1,start=meanshift", "rotreg"]
LEFT_OUT_METHODS = ["lbs", "rotreg:published=1", "rotreg"]


def figure_11(folder):
    rows = []
    for name, keys in FIGURE_11.items():
        gen(folder, "set", name)
        for row in compare_rows(folder, FIGURE_11_METHODS, "--rest", "set/rest.obj", *files("set"), "--keys", keys):
            test = row["test"]
            rows.append({"set": name, "keys": keys, "method": row["spec"], "train ee": row["train"]["ee"], "test ee": test["ee"],
                         "the same as ee": test["ee"] * test["std_pct_diag"] / test["rms_pct_diag"]})
    return rows


def figure_11_picture(rows):
    column = lambda key: {m: [100 * float(r[key]) for r in rows if r["method"] == m] for m in FIGURE_11_METHODS}
    return chart.bars("Figure 11: enveloping error on test frames (bars, deviation of the vertices) and training frames (dots)",
                      ("generated set", "% of the best rigid prediction"), list(FIGURE_11), column("test ee"), column("the same as ee"), column("train ee"))


def figure_11_table(rows):
    yield "| set | training frames | method | training ee | test ee | deviation over the vertices, as ee |"
    yield "| --- | --- | --- | ---: | ---: | ---: |"
    for r in rows:
        yield f"| {r['set']} | {r['keys']} | `{r['method']}` | {float(r['train ee']):.3f} | {float(r['test ee']):.3f} | {float(r['the same as ee']):.3f} |"


def figure_13_table(rows):
    yield "| | " + " | ".join(FIGURES_13.values()) + " |"
    yield "| --- |" + " ---: |" * len(FIGURES_13)
    for method in dict.fromkeys(r["method"] for r in rows):
        yield f"| `{method}` | " + " | ".join(f"{float(r['test ee']):.3f}" for f in FIGURES_13 for r in rows if (r["figure"], r["method"]) == (f, method)) + " |"


def figure_14_table(rows):
    yield "| | test ee | frame 41, rms % |"
    yield "| --- | ---: | ---: |"
    for r in rows:
        yield f"| `{r['method']}` | {float(r['test ee']):.3f} | {float(r['rms of the frame shown']):.2f} |"


STUDY = {"figure-6": (figure_6, figure_6_table), "figure-7": (figure_7, figure_7_table), "figure-11": (figure_11, figure_11_table),
         "figure-13": (lambda folder: [r for r in study()["figures-13-14"] if r["figure"] in FIGURES_13], figure_13_table),
         "figure-14": (lambda folder: [r for r in study()["figures-13-14"] if r["figure"] == "figure-14"], figure_14_table)}

# ---- Murtagh 2008, table 5.1 -------------------------------------------------------------------------------------------------

# Animation, poses: vertices, frames per second of PSD/SSD, SSD, PSD/DQ, DQ; the set that stands in and its training frames.
MURTAGH = {
    "Box, 3 poses": (2646, 235, 287, 267, 337, ["bar"], "every:20"),
    "CandyWrapper, 4 poses": (7992, 103, 114, 121, 138, ["elbow", "--bend", "0", "--twist", "180", "--frames", "40"], "0,13,26,39"),
    "Wave, 1 pose": (7992, 107, 119, 126, 138, ["elbow", "--bend", "90", "--twist", "0", "--frames", "40"], "39"),
    "WristRotate, 3 poses": (7992, 106, 116, 125, 141, ["wrist"], "every:20"),
    "WristRotate, 5 poses": (7992, 81, 116, 91, 116, ["wrist"], "every:10"),
    "WristRotate, 9 poses": (7992, 72, 116, 78, 116, ["wrist"], "every:5"),
}
MURTAGH_METHODS = ["psd:space=whole", "lbs", "psd:space=whole,blend=dualquat", "dqs"]


def murtagh(folder):
    rows = []
    for name, (vertices, *_, kind, keys) in MURTAGH.items():
        gen(folder, "set", *kind, "--vertices", str(vertices))
        found = compare_rows(folder, MURTAGH_METHODS, "--rest", "set/rest.obj", *files("set"), "--keys", keys)
        rows.append({"name": name, "models": [{"us": r["us_per_frame"], "bytes": r["bytes"], "ee": r["test"]["ee"], "max": r["test"]["max_pct_diag"]} for r in found]})
    return rows


# Figures 5.4 to 5.6: the correction of the vertex that is displaced most, over the angle of the wrist.
CURVES = {"9 poses on SSD (5.4)": ("psd:space=whole", "every:5"), "3 poses on SSD (5.5)": ("psd:space=whole", "every:20"),
          "3 poses on dual quaternions (5.6)": ("psd:space=whole,blend=dualquat", "every:20")}


def read_curves(path):
    """The lines of a chart that the tool drew, in the units of its axes: true, interpolated."""
    text = Path(path).read_text()
    axis = lambda pattern: [(float(at), float(value)) for at, value in re.findall(pattern, text)]
    across = axis(r'<text x="([\d.]+)" y="386" text-anchor="middle">([-\d.]+)<')
    up = axis(r'<text x="64" y="([\d.]+)" text-anchor="end">([-\d.e]+)<')
    scale = lambda ticks, at, shift: ticks[0][1] + (at - ticks[0][0] + shift) * (ticks[-1][1] - ticks[0][1]) / (ticks[-1][0] - ticks[0][0])
    lines = [line.replace("L", " ").split() for line in re.findall(r'<path fill="none" [^>]*d="M([^"]+)"', text)]
    return [[(scale(across, float(x), 0), scale(up, float(y), 4)) for x, y in zip(line[::2], line[1::2])] for line in lines]


def curves(folder):
    gen(folder, "set", "wrist", "--vertices", "7992")
    rows = []
    for title, (spec, keys) in CURVES.items():
        run(folder, "compare", "--method", spec, "--rest", "set/rest.obj", *files("set"), "--keys", keys, "--plot", "curve.svg", "--plot-of", "correction")
        true, interpolated = read_curves(f"{folder}/curve.svg")
        rows.append({"name": title, "true": true, "points": interpolated})
    return rows


def curves_table(rows):
    yield "| figure | largest true displacement, metres | largest interpolated | largest difference |"
    yield "| --- | ---: | ---: | ---: |"
    for row in rows:
        largest = [max(abs(y) for _, y in row[key]) for key in ("true", "points")]
        apart = max(abs(a[1] - b[1]) for a, b in zip(row["true"], row["points"]))
        yield f"| {row['name']} | {largest[0]:.3f} | {largest[1]:.3f} | {apart:.3f} |"


def curves_picture(row):
    """True and interpolated; circles are the training poses, as in the thesis."""
    dots = [p for f, p in enumerate(row["true"]) if f % int(CURVES[row["name"]][1].split(":")[1]) == 0]
    return chart.lines(f"{row['name']}: correction of the vertex that is displaced most; circles: training poses", ("angle of the wrist, radians", "metres, in the rest pose"),
                       {"true": row["true"], "interpolated": row["points"]}, {"interpolated": dots})


# Section 2.3.3: abstract controls. Kernels on the values of a face, half of its frames, and on a scanned one: its shapes and mixtures of five.
FACE_METHODS = ["psd", "psd:space=whole", "psd:space=whole,linear=1", "psd:space=whole,kernel=thinplate",
                "psd:space=whole,kernel=bspline", "psd:space=whole,kernel=bspline,linear=1", "psd:space=whole,kernel=shepard"]
MIXTURES = 40


def mixed_face(folder, place):
    """The shapes of a face and then sums of five of them, each times 0 to 1: frames.pc2 and values.csv in `folder`. How many shapes there are."""
    random, data = Random(1), (place / "frames.pc2").read_bytes()
    lines = (place / "values.csv").read_text().splitlines()
    shapes, size = len(lines) - 2, 3 * struct.unpack_from("<i", data, 16)[0]
    numbers = array.array("f", data[32:])
    rest = array.array("f", [float(x) for line in open(place / "rest.obj", encoding="utf-8") if line.startswith("v ") for x in line.split()[1:4]])
    for k in range(MIXTURES):
        weights = {i: random.random() for i in random.sample(range(shapes), 5)}
        parts = [(w, numbers[i * size:(i + 1) * size]) for i, w in weights.items()]
        numbers.extend(r + sum(w * (part[c] - r) for w, part in parts) for c, r in enumerate(rest))
        lines.append(",".join([str(shapes + k), *(f"{weights.get(i, 0):.9g}" for i in range(shapes))]))
    (folder / "frames.pc2").write_bytes(data[:28] + struct.pack("<i", shapes + MIXTURES) + numbers.tobytes())
    (folder / "values.csv").write_text("\n".join(lines) + "\n")
    return shapes


def faces(folder):
    gen(folder, "face", "face")
    place, made = DATA / "ict-face", Path(folder) / "ict"
    made.mkdir()
    shapes = mixed_face(made, place)
    keep = lambda m: {k: m[k] for k in ("rms_pct_diag", "max_pct_diag")}
    rows = []
    for rest, frames, keys, parts in (("face/rest.obj", "face", "every:2", {"test": "generated face, frames between"}),
                                      (str(place / "rest.obj"), "ict", f"0-{shapes - 1}", {"train": f"ICT face, its {shapes} shapes", "test": f"ICT face, {MIXTURES} mixtures of five"})):
        found = compare_rows(folder, FACE_METHODS, "--rest", rest, "--frames", f"{frames}/frames.pc2", "--values", f"{frames}/values.csv", "--keys", keys)
        rows += [{"set": title, "models": {r["spec"]: {**keep(r[part]), "bytes": r["bytes"]} for r in found}} for part, title in parts.items()]
    return rows


def faces_table(rows):
    yield "| | " + " | ".join(f"{row['set']}: rms, % | largest, %" for row in rows) + " | bytes: generated | ICT |"
    yield "| --- |" + " ---: |" * (2 * len(rows) + 2)
    for method in FACE_METHODS:
        cells = [f"{m['rms_pct_diag']:.4f} | {m['max_pct_diag']:.3f}" for row in rows for m in [row["models"][method]]]
        cells += [f"{rows[k]['models'][method]['bytes']:,}" for k in (0, 1)]
        yield f"| `{method}` | " + " | ".join(cells) + " |"


def murtagh_table(rows):
    titles = ["PSD/SSD", "SSD", "PSD/DQ", "DQ"]
    yield "| animation | vertices | " + " | ".join(f"{t}: theirs, fps | ours, fps" for t in titles) + " | slower by corrections, SSD: theirs | ours | DQ: theirs | ours |"
    yield "| --- | ---: |" + " ---: |" * 12
    for row in rows:
        theirs, ours = MURTAGH[row["name"]][1:5], [1e6 / m["us"] for m in row["models"]]
        slower = lambda fps, k: f"{100 * (fps[k + 1] / fps[k] - 1):.0f} %"
        cells = [cell for a, b in zip(theirs, ours) for cell in (str(a), f"{b:,.0f}")]
        cells += [slower(fps, k) for k in (0, 2) for fps in (theirs, ours)]
        yield f"| {row['name']} | {MURTAGH[row['name']][0]:,} | " + " | ".join(cells) + " |"
    by = {row["name"]: row["models"] for row in rows}
    few, many = by["WristRotate, 3 poses"], by["WristRotate, 9 poses"]
    size = lambda models, k: models[k]["bytes"] - models[k + 1]["bytes"]
    yield ""
    yield "| figures 5.1, 5.2, 5.7: test frames | PSD/SSD: ee | largest, % | SSD: ee | largest, % | PSD/DQ: ee | largest, % | DQ: ee | largest, % |"
    yield "| --- |" + " ---: |" * 8
    for row in rows:
        yield f"| {row['name']} | " + " | ".join(f"{m['ee']:.3f} | {m['max']:.2f}" for m in row["models"]) + " |"
    yield ""
    yield "| headline | theirs | ours |"
    yield "| --- | --- | --- |"
    yield f"| 3 poses on dual quaternions against 9 on SSD, frames per second | +74 % | {100 * (many[0]['us'] / few[2]['us'] - 1):+.0f} % |"
    yield f"| memory of the corrections | -85 % (28 bytes per vertex and pose) | {100 * (size(few, 2) / size(many, 0) - 1):+.0f} % |"
    yield (f"| error between the poses | visually equal | enveloping error {few[2]['ee']:.3f} with 3 poses on dual quaternions, {many[0]['ee']:.3f} with 9 on SSD, "
           f"{few[0]['ee']:.3f} with 3 on SSD |")


# ---- Kim, Feng and Yu 2010 ---------------------------------------------------------------------------------------------------

# Example: vertices, bones, training frames, frames; KB of M (dual quaternions, theirs), of P; the set that stands in.
KIM = {
    "Cylinder bulge": (2000, 50, 4, 40, 9.49, 10.66, 29.69, "cylinder"), "Cylinder bulge*": (2000, 100, 4, 40, 18.87, 23.55, 117.97, "cylinder"),
    "Dragon leg": (2210, 100, 19, 86, 66.09, 82.50, 117.97, "leg"), "Muscle arm": (5256, 100, 5, 50, 22.02, 25.14, 117.97, "arm"),
}
# T of Table 1, KB: dual quaternions with Poisson's matrix, affine bones.
KIM_TOTALS = {"Cylinder bulge": (39.19, 40.36), "Cylinder bulge*": (136.84, 141.52), "Dragon leg": (184.06, 200.47), "Muscle arm": (139.98, 143.11)}
# Title: options of `affine`. B to D are those of figures 6 and 7.
KIM_SPECS = {"dual quaternions (B)": "published=1,stretch=0,poisson=0", "with Poisson (C)": "published=1,stretch=0", "affine bones (D)": "published=1",
             "affine, linear CCA": "published=1,beta=1e6", "affine, weights not smoothed": "published=1,smooth=none", "Sinew": "", "Sinew, affine bones": "stretch=1"}


def read_pc2(path):
    """Frames of a PC2 file: a list of lists of points."""
    data = Path(path).read_bytes()
    points, frames = struct.unpack_from("<i", data, 16)[0], struct.unpack_from("<i", data, 28)[0]
    numbers = array.array("f", data[32:32 + 12 * points * frames])
    return [[tuple(numbers[3 * (f * points + i):3 * (f * points + i) + 3]) for i in range(points)] for f in range(frames)]


def write_pc2(path, frames):
    head = b"POINTCACHE2\0" + struct.pack("<iiffi", 1, len(frames[0]), 0, 1, len(frames))
    Path(path).write_bytes(head + array.array("f", [x for frame in frames for point in frame for x in point]).tobytes())


def even(count, frames):
    return ",".join(str(round(k * (frames - 1) / (count - 1))) for k in range(count))


def pulled(folder, bones, spec):
    """Figure 6: the cylinder's control point goes on beyond the last training frame."""
    truth = read_pc2(f"{folder}/far/frames.pc2")
    points = [int(line) for line in Path(f"{folder}/far/controls.txt").read_text().splitlines() if not line.startswith("#")]
    write_pc2(f"{folder}/points.pc2", [[frame[i] for i in points] for frame in truth])
    run(folder, "train", "--method", f"affine:bones={bones}{spec and ','}{spec}", "--rest", "far/rest.obj", "--frames", "far/frames.pc2", "--controls",
        "far/controls.txt", "--keys", even(4, 40), "-o", "far.sinew")
    run(folder, "eval", "far.sinew", "--controls", "points.pc2", "-o", "far.pc2")
    ours, beyond = read_pc2(f"{folder}/far.pc2"), range(40, 50)
    low, high = ([f(p[k] for p in truth[0]) for k in range(3)] for f in (min, max))
    size = math.dist(low, high)
    squares = [math.dist(a, b) ** 2 for f in beyond for a, b in zip(ours[f], truth[f])]
    width = lambda frame: max(p[2] for p in frame) - min(p[2] for p in frame)
    return {"rms": 100 * (sum(squares) / len(squares)) ** 0.5 / size, "control": 100 * max(math.dist(ours[f][i], truth[f][i]) for f in beyond for i in points) / size,
            "bulge": 100 * ((width(ours[49]) - width(truth[0])) / (width(truth[49]) - width(truth[0])) - 1)}


def kim(folder):
    rows = []
    gen(folder, "far", "cylinder", "--frames", "50")
    for name, (vertices, bones, keys, frames, *_, kind) in KIM.items():
        gen(folder, "set", kind, "--vertices", str(vertices), "--frames", str(frames))
        specs = [f"affine:bones={bones}{spec and ','}{spec}" for spec in KIM_SPECS.values()]
        words = ["--rest", "set/rest.obj", "--frames", "set/frames.pc2", "--controls", "set/controls.txt"]
        found = compare_rows(folder, specs, *words, "--keys", even(keys, frames))
        models = {}
        for title, row in zip(KIM_SPECS, found):
            keep = lambda m: {k: m[k] for k in ("rms_pct_diag", "max_pct_diag", "std_pct_diag")}
            models[title] = {"train": keep(row["train"]), "test": keep(row["test"]), "us": row["us_per_frame"], "bytes": row["bytes"]}
        for title in ("dual quaternions (B)", "affine bones (D)"):
            run(folder, "train", "--method", specs[list(KIM_SPECS).index(title)], *words, "--keys", even(keys, frames), "-o", "set.sinew")
            sections = run(folder, "info", "set.sinew")["sections"]
            models[title]["kb"] = [(sections["control.map"] + sections["control.frames"]) / 1024, sections.get("control.solve", 0) / 1024]
        row = {"name": name, "models": models}
        if kind == "cylinder":
            row["pulled"] = {title: pulled(folder, bones, spec) for title, spec in KIM_SPECS.items()}
        rows.append(row)
    return rows


def kim_size_table(rows):
    yield "| example | vertices, bones, training frames, frames | M, KB: theirs, dual quaternions | ours | theirs, affine | ours | P, KB: theirs | ours | T = M + P, KB: theirs, dual quaternions | ours | theirs, affine | ours |"
    yield "| --- | --- |" + " ---: |" * 10
    for row in rows:
        vertices, bones, keys, frames, dual, affine, solve, _ = KIM[row["name"]]
        kb = [row["models"][title]["kb"] for title in ("dual quaternions (B)", "affine bones (D)")]
        yield (f"| {row['name']} | {vertices:,}, {bones}, {keys}, {frames} | {dual:.2f} | {kb[0][0]:.2f} | {affine:.2f} | {kb[1][0]:.2f} | {solve} | {kb[1][1]:.2f} "
               f"| {KIM_TOTALS[row['name']][0]} | {kb[0][0] + kb[1][1]:.2f} | {KIM_TOTALS[row['name']][1]} | {sum(kb[1]):.2f} |")


def kim_pulled_table(rows):
    yield "| | " + " | ".join(f"{row['name']}: rms, % | control point off by, % | width of the bulge, off by %" for row in rows if "pulled" in row) + " |"
    yield "| --- |" + " ---: |" * (3 * sum("pulled" in row for row in rows))
    for title in KIM_SPECS:
        cells = [f"{m['rms']:.3f} | {m['control']:.3f} | {m['bulge']:+.1f}" for row in rows if "pulled" in row for m in [row["pulled"][title]]]
        yield f"| {title} | " + " | ".join(cells) + " |"


def kim_error_table(rows):
    yield "| | " + " | ".join(f"{row['name']}: test rms, % | largest, %" for row in rows) + " |"
    yield "| --- |" + " ---: |" * (2 * len(rows))
    for title in KIM_SPECS:
        yield f"| {title} | " + " | ".join(f"{m['rms_pct_diag']:.3f} | {m['max_pct_diag']:.2f}" for row in rows for m in [row["models"][title]["test"]]) + " |"


def kim_smooth_table(rows):
    yield "| | frames | rms, % | deviation over the vertices, % | largest, % |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for row in rows[2:]:
        for title in ("affine, weights not smoothed", "affine bones (D)"):
            for kind in ("train", "test"):
                m = row["models"][title][kind]
                yield f"| {row['name']}, {title} | {kind} | {m['rms_pct_diag']:.3f} | {m['std_pct_diag']:.3f} | {m['max_pct_diag']:.2f} |"


KIM_TIMED = ("dual quaternions (B)", "with Poisson (C)", "affine bones (D)", "Sinew")


def kim_speed_table(rows):
    yield "| | " + " | ".join(f"{title}, fps" for title in KIM_TIMED) + " | affine / dual quaternions |"
    yield "| --- |" + " ---: |" * (1 + len(KIM_TIMED))
    for row in rows:
        us = [row["models"][title]["us"] for title in KIM_TIMED]
        yield f"| {row['name']} | " + " | ".join(f"{1e6 / u:,.0f}" for u in us) + f" | {us[0] / us[2]:.2f} |"


def kim_speed_picture(rows):
    series = {title: [1e6 / row["models"][title]["us"] for row in rows] for title in KIM_TIMED}
    return chart.bars("Figure 10: one processor core, positions and normals", ("generated set of the same counts", "frames per second"), [row["name"] for row in rows], series)


def kim_pulled_picture(rows):
    rows = [row for row in rows if "pulled" in row]
    series = {title: [row["pulled"][title]["rms"] for row in rows] for title in KIM_SPECS}
    return chart.bars("Figure 6: the control point pulled beyond the training frames", ("generated set", "rms error, % of the diagonal"), [row["name"] for row in rows], series)


def points_picture(rows):
    return chart.lines("Chosen control points, 12 training frames", ("control points", "rms error of the test frames, % of the diagonal"),
                       {row["set"]: list(zip(POINTS, row["test"])) for row in rows})


# Heading, what is to be seen, table.
KIM_TABLES = [
    ("Table 1: sizes", "What M counts is not printed. Theirs are 4 B d (Tr + 2) + 24 (Tr + 1) bytes with d = 8 numbers per bone, or 10 for affine ones, but for the two affine entries of Cylinder bulge (11.84) and Muscle arm (27.48); ours is M with the training control points. P is the same matrix; leg and arm have four control points here, and clusters may be fewer.", kim_size_table),
    ("Figure 6: pulled beyond the training frames", "Frames 40 to 49 of `gen cylinder --frames 50`, which go on where the training ends.", kim_pulled_table),
    ("Figures 6 and 7: error between the training frames", "B, C and D are the figures' letters. Theirs are pictures.", kim_error_table),
    ("Figures 8 and 9: smoothed weights", "Theirs are pictures; the claim is that errors are distributed more evenly.", kim_smooth_table),
    ("Figure 10: frames per second", "Theirs: bars without numbers, a few hundred on a GeForce 8800 GTX, with drawing: not comparable but for the ratio. Ours: one core, no drawing.", kim_speed_table),
]


def kim_table(rows):
    for heading, seen, table in KIM_TABLES:
        picture = {kim_pulled_table: "kim-6.svg", kim_speed_table: "kim-10.svg"}.get(table)
        yield from [f"## {heading}", "", seen, "", *table(rows), "", *([f"![{heading}]({picture})", ""] if picture else [])]


# ---- Kim, Park and Jung, figures 5 and 6 -------------------------------------------------------------------------------------

DEGREES = ("linear", "quadratic", "cubic")
# Cells, f_s by f_r: mean and deviation; then the effects of f_r and f_s and their interaction. The first deviation is printed as 0.00298195,
# which no printed total and no printed F agrees with.
CELLS = {"arm": (((0.00291259, 0.002228195), (0.00293518, 0.002274083), (0.00290336, 0.002221413)),
                 ((0.0028879, 0.002259423), (0.00291126, 0.002310925), (0.00287895, 0.002252499)),
                 ((0.00292662, 0.002232847), (0.00295322, 0.002276725), (0.00291479, 0.002226049))),
         "leg": (((0.00483203, 0.003402375), (0.00478021, 0.003405308), (0.00481102, 0.003389172)),
                 ((0.00453176, 0.003535153), (0.0044848, 0.00353487), (0.00450976, 0.003524109)),
                 ((0.00490894, 0.003367239), (0.00485697, 0.003370255), (0.00488836, 0.003354456)))}
EFFECTS = {"arm": ("F = 0.342, p = .711", "F = 0.426, p = .653", "F = 0.001, p = 1"),
           "leg": ("F = 0.546, p = .579", "F = 33.845, p < .001: quadratic < linear, cubic", "F = 0.001, p = 1")}
# Name: method, frames, training frames.
TORQUE_RUNS = {"its own examples": ("torque:published=1", "30", "all"), "frames between": ("torque:published=1", "60", "every:2"),
               "Sinew's torque, frames between": ("torque", "60", "every:2")}
LIFT = ["leg", "--vertices", "3369", "--motion", "lift", "--square"]
TORQUE_SETS = {"arm": ["arm", "--vertices", "1873"], "leg": ["leg", "--vertices", "3369"], "constructed leg, square": [*LIFT, "1"],
               "constructed leg, linear": [*LIFT, "0"]}
LENGTHS = {"arm": 0.794, "leg": 1.015}  # of the limbs in the rest pose, section V
VERTICES = {"arm": 1873, "leg": 3369}  # values per cell


def extent(path):
    """The largest extent of an OBJ file along an axis."""
    points = [[float(x) for x in line.split()[1:4]] for line in open(path, encoding="utf-8") if line.startswith("v ")]
    return max(max(axis) - min(axis) for axis in zip(*points))


def torques(folder):
    rows = []
    for name, words in TORQUE_SETS.items():
        for title, (spec, frames, keys) in TORQUE_RUNS.items():
            gen(folder, "set", *words, "--frames", frames)
            anova = run(folder, "compare", "--method", spec, "--degrees", "all", "--rest", "set/rest.obj", *files("set"), "--torque", "set/torque.csv",
                        "--keys", keys)["anova"]
            rows.append({"set": name, "run": title, "length": extent(f"{folder}/set/rest.obj"), **{k: anova[k] for k in ("cells", "effects", "post_hoc", "response")}})
    return rows


def effect_text(row, which):
    effect, groups = row["effects"][which], row["post_hoc"].get(which, {"groups": []})["groups"]
    order = ": " + " < ".join(", ".join(group) for group in groups) if effect["p"] < 0.05 and len(groups) > 1 else ""
    return f"F = {effect['f']:.3g}, p = {effect['p']:.2g}{order}"


def cell(row, f_r, f_s):
    return next(c for c in row["cells"] if c["levels"] == [f_r, f_s])


def torque_level(row):
    """Mean over the cells and its deviation over the vertices relative to it."""
    mean = sum(cell["mean"] for cell in row["cells"]) / 9
    return mean, sum(cell["sd"] for cell in row["cells"]) / 9 / mean


def cell_groups():
    """The cells of the document's table and its totals, as f_s, f_r: title, indices."""
    for s, f_s in enumerate(DEGREES):
        yield from ((f"{f_s}, {f_r}", [(s, r)]) for r, f_r in enumerate(DEGREES))
        yield f"{f_s}, total", [(s, r) for r in range(3)]
    yield from ((f"total, {f_r}", [(s, r) for s in range(3)]) for r, f_r in enumerate(DEGREES))


def pooled(cells, n):
    """Mean and deviation of all values of cells of n values each."""
    mean = sum(m for m, _ in cells) / len(cells)
    return mean, math.sqrt(sum((n - 1) * sd * sd + n * (m - mean) ** 2 for m, sd in cells) / (n * len(cells) - 1))


def torques_table(rows):
    titles = list(TORQUE_RUNS)
    yield "| | the document | " + " | ".join(titles) + " |"
    yield "| --- |" + " --- |" * (1 + len(titles))
    for name in TORQUE_SETS:
        for k, (factor, which) in enumerate((("f_r", "first"), ("f_s", "second"), ("interaction", "interaction"))):
            yield f"| {name}, {factor} | {EFFECTS[name][k] if name in EFFECTS else '-'} | " + " | ".join(effect_text(r, which) for r in rows if r["set"] == name) + " |"
    yield ""
    yield "| mean (deviation) in thousandths: set, f_s, f_r | the document | " + " | ".join(titles[:2]) + " |"
    yield "| --- | ---: | ---: | ---: |"
    for name, cells in CELLS.items():
        both = [[[(c["mean"], c["sd"]) for f_r in DEGREES for c in [cell(row, f_r, f_s)]] for f_s in DEGREES] for row in rows if row["set"] == name][:2]
        unit = [1, *((LENGTHS[name] / row["length"]) ** 2 for row in rows if row["set"] == name)]
        for title, of in cell_groups():
            found = (pooled([table[s][r] for s, r in of], VERTICES[name]) for table in (cells, *both))
            yield f"| {name}, {title} | " + " | ".join(f"{1e3 * mean * u:.5g} ({1e3 * sd * u:.4g})" for (mean, sd), u in zip(found, unit)) + " |"
    yield ""
    yield "| level | the document, as squared distances | the same, as distances | its own examples, squared distances |"
    yield "| --- | ---: | ---: | ---: |"
    for name, (mean, sd) in {"arm": (0.00291376, 0.002253318), "leg": (0.00473376, 0.003435639)}.items():
        row = next(r for r in rows if r["set"] == name)
        ours, spread = torque_level(row)
        yield f"| {name}, error in % of the limb's length | {100 * mean ** 0.5 / LENGTHS[name]:.2f} (rms) | {100 * mean / LENGTHS[name]:.2f} (mean) | {100 * ours ** 0.5 / row['length']:.2f} (rms) |"
        yield f"| {name}, deviation over the vertices / mean | {sd / mean:.2f} | {sd / mean:.2f} | {spread:.2f} |"


def torques_picture(rows):
    def gain(mean):  # of f_s of each degree over linear f_s, in percent
        sums = [sum(mean(f_r, f_s) for f_r in DEGREES) for f_s in DEGREES]
        return [100 * (1 - total / sums[0]) for total in sums[1:]]

    series = {"leg, the document": gain(lambda f_r, f_s: CELLS["leg"][DEGREES.index(f_s)][DEGREES.index(f_r)][0])}
    for row in rows:
        if row["run"] == "its own examples" and row["set"] != "arm":
            series[row["set"]] = gain(lambda f_r, f_s, row=row: cell(row, f_r, f_s)["mean"])
    return chart.bars("Figure 6: how much smaller the error is than with a linear f_s", ("degree of f_s", "% of the mean squared distance"), ["quadratic", "cubic"], series)


# ---- Le and Deng 2014 ----------------------------------------------------------------------------------------------------------

# Set: vertices, frames, bones; times and RMSE of their method and of methods II to IV; the folder of the data, None: a generated set of the name. SINEW_MORE_DATA is a folder of further sets
# (rest.obj, frames.pc2): Hyperspectral Inverse Skinning's repository has lion-poses and samba, those of correspondence benchmarks have scape, whose first mesh is
# the rest pose and the other 70 the frames. Sets that are not here keep the numbers they have.
LE = {
    "cat-poses": (7207, 9, 28, (5.8, 0.1, 6.9, 17.2), (0.25, 0.68, 1.04, 0.63), "cat-poses"),
    "horse-poses": (8431, 10, 27, (7.7, 0.2, 6.2, 20.0), (0.21, 0.54, 1.24, 0.75), "horse-poses"),
    "lion-poses": (5000, 9, 30, (4.1, 0.1, 4.0, 11.7), (0.27, 0.83, 1.62, 1.14), "lion-poses"),
    "horse-gallop": (8431, 48, 27, (41.9, 0.8, 33.3, 80.3), (0.22, 0.44, 1.10, 0.88), "horse-gallop"),
    "hand": (7997, 43, 18, (65.1, 0.6, 20.0, 41.9), (0.18, 0.23, 0.42, 0.18), None),
    "dance": (7061, 201, 16, (148.7, 2.5, 61.8, 168.0), (0.22, 0.76, 0.78, 0.53), "pdance"),
    "scape": (12500, 70, 23, (252.1, 1.7, 60.7, 410.4), (0.42, 1.03, 1.18, 1.24), "scape"),
    "samba": (9971, 175, 22, (348.2, 3.3, 95.1, 296.0), (0.56, 1.29, 1.57, 1.79), "samba"),
    "cow": (2904, 204, 11, (72.3, 1.0, 16.0, 47.9), (1.52, 5.41, 5.61, 5.58), "pcow"),
}
SOLVERS = ["published", "schaefer", "aguiar", "hasler"]


def sphere_radius(path):
    """Of the bounding sphere of an OBJ file: steps towards the farthest point, ever shorter (Badoiu and Clarkson)."""
    points = [tuple(float(x) for x in line.split()[1:4]) for line in open(path, encoding="utf-8") if line.startswith("v ")]
    centre = points[0]
    for step in range(1, 1000):
        far = max(points, key=lambda p: math.dist(p, centre))
        centre = tuple(c + (p - c) / (step + 1) for c, p in zip(centre, far))
    return max(math.dist(p, centre) for p in points)


def le(folder):
    path = ROOT / "docs/measurements/le.json"
    before = {row["name"]: row for row in json.loads(path.read_text())["rows"]} if path.exists() else {}
    rows = []
    for name, (_, _, bones, *_, data) in LE.items():
        if not data:
            gen(folder, name, name)
        places = [p / data for p in (DATA, Path(os.environ.get("SINEW_MORE_DATA", DATA)))] if data else [Path(folder) / name]
        place = next((p for p in places if p.is_dir()), None)
        if not place:
            rows.append(before[name])
            continue
        solvers = {}
        for solver in [None, *SOLVERS]:
            before_it = os.times()
            result = run(folder, "rig", "--rest", f"{place}/rest.obj", "--frames", f"{place}/frames.pc2", "--bones", str(bones), "--keep-bones",
                         "--threads", "1", "-o", "rig.glb", *(["--solver", solver] if solver else []))
            solvers[solver or "sinew"] = {"rms": result["rms"], "pct": result["rms_pct_diag"], "seconds": sum(os.times()[2:4]) - sum(before_it[2:4])}
        rows.append({"name": name, "radius": sphere_radius(f"{place}/rest.obj"), "solvers": solvers})
    return rows


def le_table(rows):
    yield ("| set | vertices, frames, bones | RMSE: theirs | published, % of the diagonal | Sinew | published, % of the sphere's diameter | Sinew | "
           "II: theirs | ours | III: theirs | ours | IV: theirs | ours |")
    yield "| --- | --- |" + " ---: |" * 11
    for row in rows:
        vertices, frames, bones, _, theirs, _ = LE[row["name"]]
        s = row["solvers"]
        other = lambda solver: f"{50 * s[solver]['rms'] / row['radius']:.3f}"
        cells = [f"{s['published']['pct']:.3f}", f"{s['sinew']['pct']:.3f}", other("published"), other("sinew")]
        cells += [cell for x, solver in zip(theirs[1:], SOLVERS[1:]) for cell in (f"{x:.2f}", f"{s[solver]['pct']:.2f}")]
        generated = "" if LE[row["name"]][-1] else ", generated"
        yield f"| {row['name']}{generated} | {vertices:,}, {frames}, {bones} | {theirs[0]:.2f} | " + " | ".join(cells) + " |"
    yield ""
    yield "| set | time: theirs | published, s | Sinew, s | II: theirs | ours, s | III: theirs | ours, s | IV: theirs | ours, s |"
    yield "| --- |" + " ---: |" * 9
    for row in rows:
        seconds = [f"{row['solvers'][solver]['seconds']:.1f}" for solver in SOLVERS]
        first, *others = zip(LE[row["name"]][3], seconds)
        cells = [str(first[0]), first[1], f"{row['solvers']['sinew']['seconds']:.1f}", *(str(cell) for pair in others for cell in pair)]
        yield f"| {row['name']} | " + " | ".join(cells) + " |"


# Pictures that are drawn from the numbers: file, numbers, function.
PICTURES = {"figure-6-u.svg": ("figure-6", figure_6_u_picture), "figure-6.svg": ("figure-6", figure_6_picture), "figure-7.svg": ("figure-7", figure_7_picture),
            "figure-11.svg": ("figure-11", figure_11_picture), "figure-6-torque.svg": ("torques", torques_picture), "kim-6.svg": ("kim", kim_pulled_picture),
            "kim-10.svg": ("kim", kim_speed_picture), "affine-controls.svg": ("points", points_picture),
            **{f"murtagh-5-{k + 4}.svg": ("curves", lambda rows, k=k: curves_picture(rows[k])) for k in range(3)}}


def draw_pictures():
    for name, (numbers, picture) in PICTURES.items():
        path = ROOT / f"docs/measurements/{numbers}.json"
        if path.exists():
            (PAGES / name).write_text(picture(json.loads(path.read_text())["rows"]))


# Equation 2.6: distances by each vertex's weights.
WEIGHTED = ["lbs", "psd:space=whole", "psd:space=whole,weighted=1", "wpsd"]


def weighted(folder):
    return between(folder, WEIGHTED, small("elbow", "arm", "leg", "shoulder", "athlete"), "every:4")


OURS = {**STUDY, "murtagh": (murtagh, murtagh_table), "le": (le, le_table), "wang": (wang, wang_table), "torques": (torques, torques_table), "kim": (kim, kim_table),
        "loocv": (left_out, left_out_table), "scans": (scans, scans_table), "curves": (curves, curves_table), "faces": (faces, faces_table), "weighted": (weighted, error_table), "points": MEASURED["points"]}
MEASURED.update(OURS)

if __name__ == "__main__":
    main(list(OURS), sorted(PAGES.glob("*.md")))
    draw_pictures()
