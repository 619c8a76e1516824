# SPDX-License-Identifier: MIT
# The helper joints of a driver table (docs/reference/driver-table.md) in plain Python. Quaternions are x, y, z, w.
import math


def times(a, b):
    return [a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
            a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]]


def terms_of(driver, q):
    """Nine terms of a driver whose joint has the local rotation q: of its rotation vector minus that of the rest pose."""
    r = times(times(driver["before"], q), driver["after"])
    sine = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    factor = (2 * math.atan2(sine, abs(r[3])) / sine if sine > 1e-6 else 2) * (-1 if r[3] < 0 else 1)
    x, y, z = (factor * v - rest for v, rest in zip(r, driver["rest"]))
    return x, y, z, x * x, x * y, x * z, y * y, y * z, z * z


def motions(table, rotations):
    """(translation, rotation, scale) of every helper relative to its rest; one local rotation per driver."""
    terms = [terms_of(driver, q) for driver, q in zip(table["drivers"], rotations)]
    for helper in table["helpers"]:
        total = [0.0] * 7
        for function in helper["functions"]:
            for term, row in zip(terms[function["driver"]], function["mix"]):
                for c in range(7):
                    total[c] += term * row[c]
        t = [min(max(x, low), high) for x, low, high in zip(total, helper["low"], helper["high"])]
        length = math.sqrt(1 + (t[3] * t[3] + t[4] * t[4] + t[5] * t[5]) / 4)
        yield t[:3], [t[3] / 2 / length, t[4] / 2 / length, t[5] / 2 / length, 1 / length], 1 + t[6]


def evaluate(table, rotations):
    """(translation, rotation, scale) of every helper's node in its parent's."""
    for helper, (t, q, scale) in zip(table["helpers"], motions(table, rotations)):
        rest = helper["rotation"]
        moved = times(times(rest, [*t, 0]), [-rest[0], -rest[1], -rest[2], rest[3]])
        yield [a + b for a, b in zip(helper["translation"], moved)], times(rest, q), scale


def shape_weights(table, rotations):
    """The weight of every shape (morph target); one local rotation per driver."""
    vectors = [terms_of(driver, q) for driver, q in zip(table["drivers"], rotations)]
    terms = []
    for group in table.get("terms", []):
        p, q = vectors[group["drivers"][0]], vectors[group["drivers"][-1]]
        if "centres" in group:
            squares = [sum((a - b) ** 2 for a, b in zip(p, centre)) for centre in group["centres"]]
            terms.append([math.exp(-square / (2 * group["width"] ** 2)) for square in squares])
        else:
            terms.append(p if len(group["drivers"]) == 1 else [p[k // 3] * q[k % 3] for k in range(9)])
    for shape in table.get("shapes", []):
        yield sum(x * term for f in shape["functions"] for x, term in zip(f["mix"], terms[f["terms"]]))
