#!/usr/bin/env python3
"""The tool's tables of options (`sinew COMMAND --help tables`, JSON) as text: tools/tables.py markdown|man|words [COMMAND], with
SINEW the tool (build/sinew unless told). markdown: the sections of docs/reference/commands.md, of a command or of the methods;
man: a man page; words: a line per option for shell completion."""
import json
import os
import subprocess
import sys


def tables(command):
    sinew = os.environ.get('SINEW', 'build/sinew')
    return json.loads(subprocess.run([sinew, command, '--help', 'tables'], check=True, capture_output=True).stdout)


def cell(text):
    return text.replace('|', '\\|')


def markdown(command):
    t = tables(command)
    details = ' ' + t['details'].replace('\n', '\n\n') if t['details'] else ''
    print(f"## {t['name']}\n\n    sinew {t['name']} {t['usage']}\n\n{t['summary'][0].upper()}{t['summary'][1:]}.{details}")
    print('\n| option | default | meaning |\n| --- | --- | --- |')
    for o in sorted(t['options'], key=lambda o: o['title']):
        argument = f" {cell(o['argument'])}" if o['argument'] else ''
        print(f"| `{o['name']}{argument}` | {o['default'] or ''} | {cell(o['help'])}{' (repeatable)' * o['repeats']} |")
    print()


def values(o):
    if o['kind'] in ('int', 'real'):
        return f"{o['least']:g} to {o['most']:g}" + (', ' + o['choices'].replace('|', ', ') if o['choices'] else '')
    return {'switch': '0, 1', 'text': 'text'}.get(o['kind']) or o['choices'].replace('|', ', ')


def markdown_methods():
    """The options of every method; those that an earlier one has too are only named."""
    seen = []
    for m in tables('compare')['methods']:
        print(f"### {m['name']}\n\n{m['summary']}.\n")
        own = [o for o in m['options'] if o not in seen]
        shared = [f"`{o['name']}`" for o in m['options'] if o in seen]
        if own:
            print('| option | default | values | meaning |\n| --- | --- | --- | --- |')
        for o in own:
            print(f"| `{o['name']}` | {o['initial']} | {values(o)} | {o['help']} |")
        if shared:
            print(('\n' if own else '') + f"As above: {', '.join(shared)}.")
        print()
        seen += own


def roff(text):
    """Text of which no character is a request or an escape."""
    lines = text.replace('\\', '\\e').replace('-', '\\-').split('\n')
    return '\n'.join('\\&' + line if line[:1] in ('.', "'") else line for line in lines)


def item(name, argument, text, initial, repeats=False):
    argument = f' \\fI{roff(argument)}\\fR' if argument else ''
    default = f' (default {roff(initial)})' if initial else ''
    print(f".TP\n\\fB{roff(name)}\\fR{argument}\n{roff(text)}{default}{' (may be repeated)' * repeats}")


def man(command):
    t = tables(command)
    name = roff(t['name'])
    print(f'.TH SINEW\\-{name} 1 "" "sinew {t["version"]}" "Sinew"\n.SH NAME\nsinew\\-{name} \\- {roff(t["summary"])}')
    print(f".SH SYNOPSIS\n\\fBsinew {name}\\fR {roff(t['usage'])}")
    if t['details']:
        print(f".SH DESCRIPTION\n{roff(t['details'])}")
    print('.SH OPTIONS')
    for o in t['options']:
        item(o['name'], o['argument'], o['help'], o['default'], o['repeats'])
    if t['methods']:
        print('.SH METHODS\nA method is given as \\fINAME\\fR or \\fINAME\\fR:key=value,key=value.')
    for m in t['methods']:
        print(f".SS {m['name']}\n{roff(m['summary'])}")
        for o in m['options']:
            item(o['name'], o['choices'], o['help'], o['initial'])
    print('.SH EXIT STATUS\n0 done, 1 the work failed (a message says what and where), 2 wrong usage.')
    print(f".SH EXAMPLE\n.nf\n{roff(t['example'])}\n.fi\n.SH SEE ALSO\n\\fBsinew\\fR(1)")


def kind(o):
    """What follows an option: file, method, something, nothing, or words to choose from."""
    argument = o['argument']
    if not argument or o['name'] == '--help':
        return 'nothing'
    if o['name'] == '--method':
        return 'method'
    if any(word in argument for word in ('FILE', 'DIR', 'MODEL', 'MESH')):
        return 'file'
    return argument if argument == argument.lower() and '|' in argument else 'something'


def words(command):
    t = tables(command)
    for o in t['options']:
        print(f"{o['name']}\t{kind(o)}\t{o['help']}")
    for m in t['methods']:
        print(f"method {m['name']}\tmethod\t{m['summary']}")


if __name__ == '__main__':
    form, *command = sys.argv[1:] or ['']
    forms = {'markdown': markdown if command else markdown_methods, 'man': man, 'words': words}
    if form not in forms:
        sys.exit(__doc__)
    forms[form](*command)
