#!/usr/bin/python3
"""Every method on every pair of clips of every character at hand: docs/measurements.md. `make suite` calls it.

    lab/suite/suite.py --quick --characters fox,soldier --methods psd,rotreg --compare lab/suite/baseline.json"""
import os
os.environ['OPENBLAS_NUM_THREADS'] = '1'
import argparse, concurrent.futures, hashlib, json, math, resource, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import suite_data as data

METHODS = ['lbs:weights=given', 'dqs:weights=given', 'rigid', 'lbs', 'dqs', 'psd', 'psd:blend=dualquat', 'eigenskin',
           'eigenskin:blend=dualquat', 'rotreg', 'auto', 'reference']
FILE = METHODS[:2]
BEST = ['psd', 'psd:blend=dualquat', 'rotreg']
BASELINE = os.path.join(data.ROOT, 'lab', 'suite', 'baseline.json')
# Bars that are numbers, at full size; the others follow from the baseline and the reference.
BARS = dict(zip(data.AUTO, [0.045, 0.142, 0.036, 0.165]))


class Failed(Exception):
    pass


def call(tool, *arguments):
    """Runs the tool and gives the result part of its report."""
    run = subprocess.run([tool, *arguments, '--threads', '1', '--quiet', '--json', '-'], capture_output=True, text=True)
    if run.returncode:
        raise Failed('%s (status %d)' % (run.stderr.strip()[-400:] or 'no message', run.returncode))
    return json.loads(run.stdout)['result']


def cpu():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def significant(x, digits=4):
    return float('%.*g' % (digits, x)) if x is not None else None


def train(tool, clips, every, half, method, model):
    """Trains a model. Its report and the CPU seconds that took."""
    options = [o for _, frames, skeleton in clips for o in ('--frames', frames, '--skeleton', skeleton)]
    if every > 1:
        options += ['--keys', 'every:%d' % every]
    if half:
        with open(clips[0][1], 'rb') as f:
            count = int.from_bytes(f.read(32)[28:], 'little')
        options += ['--keys', '0-%d' % (count // 2 - 1) if half == 'first' else '%d-%d' % (count // 2, count - 1)]
    before = cpu()
    report = call(tool, 'train', '--method', method, '--rest', clips[0][0], *options, '-o', model)
    return report, cpu() - before


def run_unit(unit):
    """One method trained on one clip and tested on the others: (unit, errors by pair, [bytes, x lbs, CPU seconds], message)."""
    character, (name, names, every, half, tests), method, quick, tool, seconds = unit
    errors = {}
    try:
        clips = [data.files(character, c, quick, tool) for c in names]
        if method == 'reference':
            import suite_reference
            other = {None: None, 'first': 'second', 'second': 'first'}[half]
            for test in tests or [None]:
                target = data.files(character, test, quick, tool) if test else clips[0]
                errors[data.pair_name(character, name, test)] = significant(
                    suite_reference.error([c + (half,) for c in clips], every, target + (other,)))
            return unit, errors, None, ''
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, 'model.sinew')
            report, spent = train(tool, clips, every, half, method, model)
            bench = call(tool, 'bench', model, '--skeleton', clips[0][2], '--seconds', str(seconds))
            if half:
                errors[data.pair_name(character, name, None)] = significant(report['test']['ee'])
            for test in tests:
                rest, frames, skeleton = data.files(character, test, quick, tool)
                r = call(tool, 'eval', model, '--rest', rest, '--frames', frames, '--skeleton', skeleton, '-o', folder + '/out.pc2')
                errors[data.pair_name(character, name, test)] = significant(r['all']['ee'])
            size = os.path.getsize(model)
        return unit, errors, [size, significant(bench['ratio_lbs'], 3), significant(spent, 3)], ''
    except (Failed, OSError, subprocess.CalledProcessError, KeyError, ValueError) as e:
        return unit, errors, None, '%s: %s' % (type(e).__name__, e)


def read_results(path, mode):
    """{'tool': hash, 'models': {training: {method: [bytes, x lbs, s]}}, 'errors': {pair: {method: ee}}} of a result file."""
    try:
        with open(path) as f:
            whole = json.load(f)
    except FileNotFoundError:
        whole = {}
    return whole, whole.setdefault(mode, {'tool': '', 'models': {}, 'errors': {}})


def write_results(path, whole):
    """One line per pair or training: small, and a change shows as a line."""
    lines = []
    for mode, part in whole.items():
        inner = [' "tool": %s' % json.dumps(part['tool'])]
        for key in ('models', 'errors'):
            rows = ['  %s: %s' % (json.dumps(k), json.dumps(v, separators=(',', ':'))) for k, v in sorted(part[key].items())]
            inner.append(' "%s": {\n%s\n }' % (key, ',\n'.join(rows)))
        lines.append('"%s": {\n%s\n}' % (mode, ',\n'.join(inner)))
    with open(path + '.part', 'w') as f:
        f.write('{\n' + ',\n'.join(lines) + '\n}\n')
    os.replace(path + '.part', path)


def start_results(a):
    """The result file to go on with: that of another binary is begun anew, but for the reference, which needs none."""
    mode = 'quick' if a.quick else 'full'
    whole, part = read_results(a.out, mode)
    with open(a.tool, 'rb') as f:
        digest = hashlib.sha256(f.read()).hexdigest()[:16]
    if part['tool'] not in ('', digest) and not a.keep:
        print('%s is of another binary: begun anew' % a.out)
        part['models'] = {}
        part['errors'] = {p: {'reference': e['reference']} for p, e in part['errors'].items() if 'reference' in e}
    part['tool'] = digest
    for pair, e in read_results(BASELINE, mode)[1]['errors'].items():
        if 'reference' in e:
            part['errors'].setdefault(pair, {}).setdefault('reference', e['reference'])
    return whole, part


def pairs_of(character, training):
    return [data.pair_name(character, training[0], t) for t in training[4] or [None]]


def plan(a, part):
    """The units that are still to be run, and the pairs that were chosen."""
    units, pairs = [], []
    for character in a.characters:
        for training in data.trainings(character):
            chosen = [p for p in pairs_of(character, training) if a.pairs in p]
            pairs += chosen
            for method in a.methods if chosen else []:
                if method == 'auto' and not a.auto_everywhere and not set(chosen) & set(data.AUTO):
                    continue
                if method == 'reference' and not os.path.isdir(os.path.join(data.SHARED, 'check')):
                    continue
                if any(method not in part['errors'].get(p, {}) for p in chosen):
                    units.append((character, training, method, a.quick, a.tool, a.bench_seconds))
    return units, pairs


def run(a, whole, part, units):
    """Runs the units, two at a time by default, and writes the result file after each."""
    begin, spent, done = time.time(), cpu(), 0
    for character in {u[0]: None for u in units}: # before the units, which would all make the same files
        for clip in data.CHARACTERS[character][1]:
            data.files(character, clip, a.quick, a.tool)
    with concurrent.futures.ProcessPoolExecutor(a.jobs) as pool:
        waiting = [pool.submit(run_unit, u) for u in units]
        try:
            for future in concurrent.futures.as_completed(waiting):
                (character, training, method, *_), errors, model, message = future.result()
                done += 1
                for p, e in errors.items():
                    part['errors'].setdefault(p, {})[method] = e
                if model:
                    part['models'].setdefault('%s %s' % (character, training[0]), {})[method] = model
                write_results(a.out, whole)
                print('[%d/%d] %s %s %s: %s' % (done, len(units), character, training[0], method, message or ' '.join(
                    '%s %.4f' % (p.split('> ')[1], e) for p, e in errors.items())), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise SystemExit('interrupted: the same command goes on from %s' % a.out)
    print('%d trainings in %.0f s, %.0f s of processor time' % (done, time.time() - begin, cpu() - spent))


def short(method):
    return method.replace(':weights=given', ' file').replace(':blend=dualquat', ' dq').replace('eigenskin', 'eigen')


def print_table(part, pairs, methods):
    width = max([len(p) for p in pairs] + [10])
    print('\nEnveloping error on new motion\n%-*s %s' % (width, 'pair', ' '.join('%9s' % short(m)[:9] for m in methods)))
    for p in pairs:
        row = part['errors'].get(p, {})
        print('%-*s %s' % (width, p, ' '.join('%9.4f' % row[m] if m in row else '%9s' % '-' for m in methods)))


def file_error(row):
    return min((row[m] for m in FILE if m in row), default=None)


def with_best(row):
    """The row with the best of the three methods that the bars are for."""
    three = [row[m] for m in BEST if m in row]
    return dict(row, best=min(three)) if len(three) == len(BEST) else row


def summary(ratios):
    return '%9.3f %9.3f  %4d' % (math.exp(sum(map(math.log, ratios)) / len(ratios)), max(ratios), len(ratios))


def print_summaries(part, pairs, methods, baseline):
    """Per group and method, the geometric mean and the worst of error / error of the file's weights with the better blend. Where the
    file's weights were not run, those of the baseline are meant."""
    for group in 'AB':
        names = [p for p in pairs if data.CHARACTERS[p.split()[0]][0] == group]
        rows = []
        for p in names:
            row = {m: e for m, e in baseline['errors'].get(p, {}).items() if m in FILE}
            row.update(with_best(part['errors'].get(p, {})))
            rows += [row] if file_error(row) else []
        if not rows:
            continue
        print('\nGroup %s: error / error of the file\'s weights\n%-26s %9s %9s %5s' % (group, 'method', 'geo mean', 'worst', 'pairs'))
        for m in methods + ['best']:
            ratios = [r[m] / file_error(r) for r in rows if m in r]
            if ratios:
                print('%-26s %s' % (m if m != 'best' else 'best of psd, dq, rotreg', summary(ratios)))


def print_comparison(part, pairs, methods, other, count):
    """Ratios of every cell to another result file's, worst first, and per method."""
    ratios = []
    for p in pairs:
        a, b = with_best(part['errors'].get(p, {})), with_best(other['errors'].get(p, {}))
        ratios += [(a[m] / b[m], p, m, b[m], a[m]) for m in methods + ['best'] if m in a and m in b and m != 'reference']
    ratios.sort(reverse=True)
    print('\nAgainst the other file (below 1 is better), worst first\n%7s %9s %9s  pair, method' % ('ratio', 'other', 'this'))
    for r, p, m, b, e in ratios[:count]:
        print('%7.3f %9.4f %9.4f  %s, %s' % (r, b, e, p, m))
    print('\n%-3s %-26s %9s %9s %5s' % ('', 'method', 'geo mean', 'worst', 'pairs'))
    for group in 'AB':
        for m in methods + ['best']:
            of = [r for r, p, n, _, _ in ratios if n == m and data.CHARACTERS[p.split()[0]][0] == group]
            if of:
                print('%-3s %-26s %s' % (group, m, summary(of)))


def bar_of(pair, baseline, quick):
    """The error a pair may have: its number, or 1.05 of the best of the baseline, which includes the reference."""
    bars = [1.05 * min(baseline['errors'][pair].values())] if baseline['errors'].get(pair) else []
    if not quick and pair in BARS:
        bars.append(BARS[pair])
    return min(bars, default=None)


def print_bars(part, pairs, baseline, quick):
    """Missed bars of the best of three methods, of `auto` against it, and of every second frame against all of them."""
    rows = []
    for p in pairs:
        row, bar = with_best(part['errors'].get(p, {})), bar_of(p, baseline, quick)
        if 'best' in row and bar:
            rows.append((row['best'] / bar, p, row['best'], bar, ''))
            if 'auto' in row:
                rows.append((row['auto'] / (1.05 * row['best']), p, row['auto'], 1.05 * row['best'], 'auto'))
        every = with_best(part['errors'].get(p.replace('rom >', 'rom/2 >'), {}))
        if ' rom >' in p and 'best' in row and 'best' in every:
            rows.append((every['best'] / (1.3 * row['best']), p, every['best'], 1.3 * row['best'], 'every second frame'))
    if not rows:
        return
    rows.sort(reverse=True)
    above = [r for r in rows if r[0] > 1]
    print('\nBars (best of psd, psd:blend=dualquat, rotreg): %d of %d not met%s' % (
        len(above), len(rows), '\n%7s %9s %9s' % ('ratio', 'error', 'bar') if above else ''))
    for r, p, e, bar, what in above:
        print('%7.3f %9.4f %9.4f  %s %s' % (r, e, bar, p, what))


def print_models(part, characters):
    print('\nBytes and evaluation time against lbs of the same examples; CPU seconds of the training')
    for training, row in sorted(part['models'].items()):
        if training.split()[0] in characters:
            size = row.get('lbs', [None])[0]
            print('%-28s %s' % (training, '  '.join('%s %s %.1fx %.3gs' % (
                short(m), '%.1fx' % (v[0] / size) if size else '%d kB' % (v[0] // 1000), v[1], v[2])
                for m, v in row.items() if m not in FILE)))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--tool', default=os.path.join(data.ROOT, 'build', 'sinew'))
    p.add_argument('--quick', action='store_true', help='at most %d vertices per mesh' % data.QUICK_VERTICES)
    p.add_argument('--group', choices=['A', 'B', 'all'], default='all')
    p.add_argument('--characters', help='only these, separated by commas')
    p.add_argument('--pairs', default='', metavar='TEXT', help='only pairs with this in their name, as "rom/2 > walk"')
    p.add_argument('--methods', default=','.join(METHODS), help='separated by commas, or by spaces where a method has several options')
    p.add_argument('--auto-everywhere', action='store_true', help='auto on every pair, not only on those that have a bar for it')
    p.add_argument('--out', metavar='FILE.json', help='results; default: suite.json beside the tool')
    p.add_argument('--keep', action='store_true', help="keep another binary's results for what is not run anew")
    p.add_argument('--show', action='store_true', help='run nothing, print what --out holds')
    p.add_argument('--compare', metavar='FILE.json', help='ratios to these results, worst first')
    p.add_argument('--top', type=int, default=20, help='ratios to print (default 20)')
    p.add_argument('--jobs', type=int, default=2, help='trainings at a time, one thread each (default 2)')
    p.add_argument('--bench-seconds', type=float, default=0.05, help='time to measure each row of an evaluation (default 0.05)')
    a = p.parse_args()
    a.tool = os.path.abspath(a.tool)
    a.out = a.out or os.path.join(os.path.dirname(a.tool), 'suite.json')
    a.methods = a.methods.split() if ' ' in a.methods else a.methods.split(',')
    asked = a.characters.split(',') if a.characters else [c for c, v in data.CHARACTERS.items() if a.group in ('all', v[0])]
    for c in asked:
        if c not in data.CHARACTERS:
            p.error('no character %s; there are %s' % (c, ', '.join(data.CHARACTERS)))
    a.characters = [c for c in asked if data.at_hand(c)]
    if a.characters != asked:
        print('%s is not here: only the generated characters are run' % os.path.relpath(data.SHARED, data.ROOT))
    return a


def main():
    a = arguments()
    mode = 'quick' if a.quick else 'full'
    whole, part = read_results(a.out, mode) if a.show else start_results(a)
    units, pairs = plan(a, part)
    if not a.show and units:
        run(a, whole, part, units)
    baseline = read_results(BASELINE, mode)[1]
    print_table(part, pairs, a.methods)
    print_summaries(part, pairs, a.methods, baseline)
    print_models(part, a.characters)
    if a.compare:
        print_comparison(part, pairs, a.methods, read_results(a.compare, mode)[1], a.top)
    print_bars(part, pairs, baseline, a.quick)


if __name__ == '__main__':
    main()
