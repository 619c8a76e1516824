# SPDX-License-Identifier: MIT
"""Bars and lines as SVG, for the pages of figures: numbers in, text out."""
import html
import math

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 360, 84, 260, 40, 60


def _ticks(low, high):
    """Round values from below `low` to above `high`, about five of them."""
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(k for k in (1, 2, 2.5, 5, 10) if (high - low) / (k * step) <= 5)
    return [k * step for k in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)]


def _number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _frame(title, labels, low, high, names, body):
    """Axes, their labels (across, up), a legend and what is drawn between them. `body` gets the function from a value to its height."""
    ticks = _ticks(low, high)
    low, high = ticks[0], ticks[-1]
    y_at = lambda value: HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{WIDTH / 2}" y="20" text-anchor="middle" font-size="14">{html.escape(title)}</text>',
           f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{html.escape(labels[0])}</text>',
           f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{html.escape(labels[1])}</text>']
    for value in ticks:
        out.append(f'<path d="M{LEFT} {y_at(value):.1f} H{WIDTH - RIGHT}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y_at(value) + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    for k, name in enumerate(names):
        y = TOP + 18 * k
        out.append(f'<rect x="{WIDTH - RIGHT + 12}" y="{y}" width="12" height="12" fill="{COLOURS[k % len(COLOURS)]}"/>'
                   f'<text x="{WIDTH - RIGHT + 30}" y="{y + 10}">{html.escape(name)}</text>')
    return "\n".join([*out, *body(y_at), "</svg>", ""])


def bars(title, labels, places, series, whiskers=None, marks=None):
    """`series`: name to a value per place; None leaves a gap. `whiskers` are as long above and below, `marks` are dots; both as `series`."""
    known = [0, *(value for values in series.values() for value in values if value is not None)]
    known += [a + b for name in whiskers or {} for a, b in zip(series[name], whiskers[name])]
    low, high = min(known), max(known)
    wide = (WIDTH - LEFT - RIGHT) / len(places)
    each = 0.8 * wide / len(series)

    def body(y_at):
        for p, place in enumerate(places):
            yield f'<text x="{LEFT + wide * (p + 0.5):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{html.escape(place)}</text>'
            for k, (name, values) in enumerate(series.items()):
                if values[p] is None:
                    continue
                middle = LEFT + wide * (p + 0.1) + each * (k + 0.5)
                top, foot = sorted((y_at(values[p]), y_at(0)))
                yield (f'<rect x="{LEFT + wide * (p + 0.1) + each * k:.1f}" y="{top:.1f}" width="{max(each - 1, 0.5):.1f}" '
                       f'height="{foot - top:.1f}" fill="{COLOURS[k % len(COLOURS)]}"/>')
                if whiskers:
                    reach = whiskers[name][p]
                    yield f'<path d="M{middle:.1f} {y_at(values[p] + reach):.1f} V{y_at(max(0, values[p] - reach)):.1f}" stroke="black"/>'
                if marks:
                    yield f'<circle cx="{middle:.1f}" cy="{y_at(marks[name][p]):.1f}" r="3" fill="white" stroke="black"/>'

    return _frame(title, labels, low, high, list(series), body)


def lines(title, labels, series, dots=None):
    """`series`: name to points (x, y); `dots`: the same, drawn as circles in the series' colour."""
    points = [p for values in series.values() for p in values]
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    low, high = min(0, min(p[1] for p in points)), max(p[1] for p in points)
    x_at = lambda x: LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)

    def body(y_at):
        for x in _ticks(x_low, x_high):
            if x_low <= x <= x_high:
                yield f'<text x="{x_at(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_number(x)}</text>'
        for k, (name, values) in enumerate(series.items()):
            path = "L".join(f"{x_at(x):.1f} {y_at(y):.1f}" for x, y in values if math.isfinite(y))
            yield f'<path d="M{path}" fill="none" stroke="{COLOURS[k % len(COLOURS)]}" stroke-width="2"/>'
            for x, y in (dots or {}).get(name, []):
                yield f'<circle cx="{x_at(x):.1f}" cy="{y_at(y):.1f}" r="4" fill="white" stroke="{COLOURS[k % len(COLOURS)]}" stroke-width="2"/>'

    return _frame(title, labels, low, high, list(series), body)
