# SPDX-License-Identifier: MIT
"""The stubs tell of what there is: the same names, the same parameters; everything public has a docstring."""
import ast
import inspect
from pathlib import Path

import sinew

TREE = ast.parse((Path(sinew.__file__).parent / "__init__.pyi").read_text())


def parameters(node):
    a = node.args
    return [p.arg for p in a.posonlyargs + a.args + a.kwonlyargs] + ([a.kwarg.arg] if a.kwarg else [])


def test_functions():
    stubs = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}
    real = {name: getattr(sinew, name) for name in sinew.__all__ if inspect.isfunction(getattr(sinew, name))}
    assert stubs.keys() == real.keys()
    for name, function in real.items():
        assert parameters(stubs[name]) == list(inspect.signature(function).parameters), name
        assert function.__doc__, name


def test_classes():
    stubs = {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef)}
    assert stubs.keys() == {name for name in sinew.__all__ if inspect.isclass(getattr(sinew, name))}
    for name, node in stubs.items():
        real = getattr(sinew, name)
        assert real.__doc__, name
        told = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        public = {n for n, v in vars(real).items() if not n.startswith("_") and (callable(v) or isinstance(v, property))}
        assert public <= told, (name, public - told)
        for n in told:
            assert hasattr(real, n), (name, n)


def test_typed():
    assert (Path(sinew.__file__).parent / "py.typed").exists()
