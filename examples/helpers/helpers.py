# SPDX-License-Identifier: MIT
# The helper joints of a driver table (docs/reference/driver-table.md) in plain Python. Quaternions are x, y, z, w.
import math


def times(a, b):
    return [a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
            a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]]


def terms_of(driver, q):
    """Nine terms of a driver whose joint has the local rotation q: of its rotation vector minus that of the rest pose. Of a value: where
    it is between low and high, from 0 to 1."""
    if "value" in driver:
        return [(min(max(q, driver["low"]), driver["high"]) - driver["low"]) / (driver["high"] - driver["low"])]
    r = times(times(driver["before"], q), driver["after"])
    sine = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    factor = (2 * math.atan2(sine, abs(r[3])) / sine if sine > 1e-6 else 2) * (-1 if r[3] < 0 else 1)
    x, y, z = (factor * v - rest for v, rest in zip(r, driver["rest"]))
    return x, y, z, x * x, x * y, x * z, y * y, y * z, z * z


def added_by(helper, terms):
    """What products of values add to a helper's matrix, relative to its rest: four columns."""
    total = [0.0] * 9
    for product in helper["products"]:
        factor = math.prod(terms[d][0] for d in product["drivers"])
        for c, x in enumerate(product["mix"]):
            total[c] += factor * x
    r, s = total[3:6], total[6:]
    return [[s[0], r[2], -r[1]], [-r[2], s[1], r[0]], [r[1], -r[0], s[2]], total[:3]]


def motions(table, inputs):
    """(translation, rotation, scale, added) of every helper relative to its rest; one local rotation or value per driver. `added`, four
    columns or None: the matrix is that of the others plus these."""
    terms = [terms_of(driver, q) for driver, q in zip(table["drivers"], inputs)]
    for helper in table["helpers"]:
        total = [0.0] * 7
        for function in helper["functions"]:
            for term, row in zip(terms[function["driver"]], function["mix"]):
                for c in range(7):
                    total[c] += term * row[c]
        t = [min(max(x, low), high) for x, low, high in zip(total, helper["low"], helper["high"])]
        length = math.sqrt(1 + (t[3] * t[3] + t[4] * t[4] + t[5] * t[5]) / 4)
        turn = [t[3] / 2 / length, t[4] / 2 / length, t[5] / 2 / length, 1 / length]
        yield t[:3], turn, 1 + t[6], added_by(helper, terms) if "products" in helper else None


def evaluate(table, inputs):
    """(translation, rotation, scale, added) of every helper's node in its parent's."""
    for helper, (t, q, scale, added) in zip(table["helpers"], motions(table, inputs)):
        rest = helper["rotation"]
        back = [-rest[0], -rest[1], -rest[2], rest[3]]
        moved, *columns = (times(times(rest, [*v, 0]), back)[:3] for v in [t, *(added or [])])
        yield [a + b for a, b in zip(helper["translation"], moved)], times(rest, q), scale, columns


def shape_weights(table, inputs):
    """The weight of every shape (morph target); one local rotation per driver."""
    vectors = [terms_of(driver, q) for driver, q in zip(table["drivers"], inputs)]
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
