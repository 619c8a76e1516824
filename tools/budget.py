#!/usr/bin/env python3
"""What the sources measure against what they may: tools/budget.py [--list KIND] [--tighten] [FOLDER].

Prints lines per room, functions that are too long or take too many parameters, lines that are too wide, files that do not
begin with a sentence, and tuned numbers of training and rigging. Fails where one is above its limit in tools/budget.txt;
--tighten lowers those limits to what is measured, and never raises one. --list shows the places of one kind."""
import os
import re
import sys

ROOMS = [  # name, aim, folders
    ('training and rigging', 15500, ['src/train', 'src/rig', 'src/fit']),
    ('formats and examples', 11800, ['src/formats', 'src/examples']),  # 10,300 and the FBX reader's 1,500
    ('runtime', 6900, ['src/runtime']),
    ('command line, session, jobs', 6500, ['src/cli', 'src/session', 'src/job']),
    ('cuda', 3200, ['src/cuda']),
    ('helpers', 2000, ['src/train/helpers', 'src/runtime/drive_helpers.c', 'src/runtime/helper.h', 'src/cuda/helpers.cu']),
    ('export', 1500, ['src/export', 'src/cli/cmd_export.c']),
    ('the rest', 7600, ['src']),
    ('lab', 7500, ['lab']),
]
AIMS = {'functions above 60 lines': 0, 'functions of more than 6 parameters': 0, 'lines above 132 columns': 0,
        'files without a first sentence': 0, 'tuned numbers': 70}
SOURCES = ('.c', '.h', '.cu', '.cpp')
HERE = os.path.dirname(os.path.abspath(__file__))


def room_of(path):
    fits = [(len(folder), name) for name, _, folders in ROOMS for folder in folders if path == folder or path.startswith(folder + '/')]
    return max(fits)[1] if fits else None


def sources(root):
    listed = [os.path.relpath(os.path.join(folder, name), root) for top in ('src', 'lab')
              for folder, _, names in os.walk(os.path.join(root, top)) for name in names]
    for path in sorted(listed):
        if path.endswith(SOURCES + (('.py',) if path.startswith('lab/') else ())):
            with open(os.path.join(root, path), encoding='utf-8') as f:
                yield path, f.read().split('\n')[:-1]


def bare(line):
    """The line without strings, characters and its comment."""
    line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])+\'', '""', line)
    return re.sub(r'//.*|/\*.*?\*/', '', line)


def parameters(head):
    """How many parameters the definition `head` has."""
    start = re.search(r'\w\(', head).end()
    depth, count = 1, 1
    for c in head[start:]:
        depth += (c in '([{') - (c in ')]}')
        if depth == 0:
            break
        count += c == ',' and depth == 1
    inside = head[start:].split(')')[0].strip()
    return 0 if inside in ('', 'void') else count


def functions(lines):
    """(line, head, length) of every function's definition: they begin and end in the first column (clang-format)."""
    k = 0
    while k < len(lines):
        if re.match(r'[A-Za-z_]', lines[k]) and '(' in lines[k] and not lines[k].startswith(('typedef', 'extern "C"')):
            end = k
            while end < len(lines) and not re.search(r'[;{}\\]$', bare(lines[end]).rstrip()):
                end += 1
            head = ' '.join(bare(x) for x in lines[k:end + 1]).rstrip()
            if head.endswith('{') and '=' not in head.split('(')[0]:
                stop = end
                while stop < len(lines) and lines[stop] != '}':
                    stop += 1
                yield k + 1, head, stop - k + 1
                k = stop
            elif re.search(r'\)\s*\{.*\}$', head) and '=' not in head.split('(')[0]:
                yield k + 1, head, end - k + 1
                k = end
        k += 1


def is_wrapper(lines, at, length):
    """A function whose only statement is a call of BLAS or LAPACK."""
    body = ' '.join(lines[at:at + length - 1])
    return body.count(';') == 1 and re.search(r'cblas_|LAPACKE_', body)


NUMBER = re.compile(r'(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)[fFuUlL]*(?![\w.])')
# Dimensions, bits and sizes of structures; units (percent, degrees, bytes, seconds).
PLAIN = {0, 0.5, 1, 2, 3, 4, 6, 9, 12, 16, 7, 8, 31, 32, 63, 64, 100, 180, 255, 360, 1000, 1024, 65535, 65536}


def tuned(lines):
    """Lines and values of literals that somebody chose. What a document prints is marked: its line's comment says `published`."""
    for k, line in enumerate(lines):
        if line.lstrip().startswith(('//', '#')) or 'published' in line.partition('//')[2]:
            continue
        text = re.sub(r'\[[^\]]*\]', '', bare(line))
        if 'SN_OPTION_' in text or 'snprintf' in text or re.search(r'\bsn_(fail|say|note)', text):
            continue
        for found in NUMBER.finditer(text):
            value = float(found.group(1))
            if value not in PLAIN and 1e-7 < value < 1e7:
                yield k + 1, found.group(0)


def first_sentence(lines):
    text = [x for x in lines if x and 'SPDX' not in x and not x.startswith('#!')]
    return bool(text) and text[0].startswith(('// ', '"""', '# ')) and len(text[0].split()) > 3


def measure(root):
    counts, places = {name: 0 for name, _, _ in ROOMS}, {kind: [] for kind in AIMS}
    for path, lines in sources(root):
        counts[room_of(path)] += len(lines)
        if path.startswith('lab/'):
            continue
        for at, head, length in functions(lines):
            if length > 60:
                places['functions above 60 lines'].append((path, at, '%d lines' % length))
            if parameters(head) > 6 and not is_wrapper(lines, at, length):
                places['functions of more than 6 parameters'].append((path, at, '%d parameters' % parameters(head)))
        for k, line in enumerate(lines):
            if len(line) > 132:
                places['lines above 132 columns'].append((path, k + 1, '%d columns' % len(line)))
        if not first_sentence(lines):
            places['files without a first sentence'].append((path, 1, ''))
        if room_of(path) == 'training and rigging':
            places['tuned numbers'] += [(path, at, value) for at, value in tuned(lines)]
    return counts, places


def main(arguments):
    tighten = '--tighten' in arguments
    shown = arguments[arguments.index('--list') + 1] if '--list' in arguments else None
    rest = [a for a in arguments if not a.startswith('--') and a != shown]
    root = rest[0] if rest else os.path.dirname(HERE)
    counts, places = measure(root)
    if shown:
        for kind in (k for k in places if shown in k):
            for path, at, text in places[kind]:
                print('%s:%d: %s' % (path, at, text))
        return 0
    limits_path = os.path.join(root, 'tools', 'budget.txt')
    with open(limits_path, encoding='utf-8') as f:
        limits = {name: int(value) for value, name in (line.split(None, 1) for line in f.read().strip().split('\n'))}
    rows = [(name, counts[name], aim) for name, aim, _ in ROOMS]
    later = ('lab', 'helpers', 'export')  # not in the 50,000: helpers and export came after it was set
    rows.insert(-1, ('src', sum(lines for room, lines in counts.items() if room not in later), 50000))
    rows += [(kind, len(places[kind]), aim) for kind, aim in AIMS.items()]
    failed = []
    print('%-36s %8s %8s %8s' % ('', 'now', 'aim', 'limit'))
    for name, now, aim in rows:
        above = now > limits[name]
        failed += [name] * above
        print('%-36s %8d %8d %8d%s' % (name, now, aim, limits[name], '  too many' if above else ''))
    if tighten:
        with open(limits_path, 'w', encoding='utf-8') as f:
            f.writelines('%6d %s\n' % (min(limits[name], max(now, aim)), name) for name, now, aim in rows)
    if failed:
        print('above its limit in tools/budget.txt: ' + ', '.join(failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
