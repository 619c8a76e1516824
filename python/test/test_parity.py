# SPDX-License-Identifier: MIT
"""Every option of the command line is an argument of the function that does the same: the tables of `sinew COMMAND --help tables`
against the signatures. What Python lacks is named here, with what it has instead."""
import inspect
import json
import subprocess

import pytest
import sinew

FUNCTIONS = {
    "train": sinew.train,
    "rig": sinew.rig,
    "compare": sinew.compare,
    "eval": sinew.Model.evaluate,
    "bench": sinew.Model.time,
    "info": sinew.info,
    "convert": sinew.convert,
    "pack": sinew.Model.packed,
    "export": sinew.Model.export,
}
# Commands without a function: pages are the tool's, `batch` and `demo` run commands, the others make test data.
TOOL_ONLY = {"view", "batch", "demo", "gen", "stats", "help"}
BASELINES = {"alexa", "animspace", "hejl", "mohr", "mwe", "sbs", "wpsd"}  # methods of papers that the tool measures against
OTHER_NAMES = {"torque": "torques", "error": "max_error", "from": "method", "o": "path"}
EVERYWHERE = {
    "quiet": "functions print nothing",
    "json": "the report is returned",
    "help": "help(function)",
    "memory": "of the process: resource.setrlimit",
}
INSTEAD = {
    "train": {"o": "model.save", "plot": "curve=True, then sinew.plot"},
    "rig": {"o": "rig.save", "plot": 'sinew.plot of report["cross_validated_pct_diag"]'},
    "compare": {"plot": "sinew.plot of the rows", "plot-of": "sinew.plot of the rows", "degrees": "the tool's analysis of variance",
                "method": "methods, a list"},
    "eval": {"seed": "nothing random"},
    "bench": {"seconds": "repeats", "cuda": "the tool", "characters": "with cuda", "threads": "one thread", "seed": "nothing random",
              **dict.fromkeys(("skeleton", "clip", "fps", "scale", "axes", "offset", "object"), "joints, an array")},
    "info": {"keys": "sinew.keys", "clip": "sinew.keys", "threads": "reads a file", "seed": "nothing random"},
    "convert": {"threads": "copies a file", "seed": "nothing random"},
    "pack": {"o": "model.save", "threads": "copies a model", "seed": "nothing random"},
    "export": {"threads": "writes files", "seed": "nothing random"},
}


def options_of(tool, command):
    table = json.loads(subprocess.run([tool, command, "--help", "tables"], check=True, capture_output=True, text=True).stdout)
    return {option["name"].lstrip("-"): option for option in table["options"]}


def has(function, name):
    return OTHER_NAMES.get(name, name.replace("-", "_")) in inspect.signature(function).parameters


def test_every_command_has_a_function(tool):
    text = subprocess.run([tool, "--help", "all"], capture_output=True, text=True).stdout
    commands = {line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2:3].isalpha()}
    assert FUNCTIONS.keys() <= commands, text
    assert not commands - FUNCTIONS.keys() - TOOL_ONLY


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_option_is_an_argument(tool, command, arm):
    names, instead = options_of(tool, command), INSTEAD[command]
    missing = {name for name in names if name not in EVERYWHERE and not has(FUNCTIONS[command], name)}
    if command == "rig":  # the solver's options go by name
        values = {name: names[name]["default"] for name in missing - instead.keys()}
        sinew.rig(arm / "rest.obj", arm / "frames.pc2", bones=2, **{name.replace("-", "_"): value for name, value in values.items()})
        missing -= values.keys()
    assert missing == instead.keys(), f"not an argument: {missing - instead.keys()}; no longer missing: {instead.keys() - missing}"


def test_methods_have_the_options_of_the_command_line(tool):
    text = subprocess.run([tool, "train", "--help", "tables"], check=True, capture_output=True, text=True).stdout
    table = {method["name"]: {option["name"] for option in method["options"]} for method in json.loads(text)["methods"]}
    table = {name: options for name, options in table.items() if name not in BASELINES}
    assert {name: set(method["options"]) for name, method in sinew.methods().items()} == table
