# SPDX-License-Identifier: MIT
"""Every code block of docs/guide/python.md runs, in order."""
import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/guide/python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_block(tool, tmp_path, monkeypatch):
    text = PAGE.read_text()
    blocks = [(text[: match.start(1)].count("\n"), match.group(1)) for match in BLOCK.finditer(text)]
    assert len(blocks) > 10
    subprocess.run([tool, "gen", "arm", "-o", tmp_path / "arm", "--frames", "24", "--quiet"], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    space = {}
    for line, block in blocks:
        if "matplotlib" in block and not importlib.util.find_spec("matplotlib"):
            continue
        try:
            exec(compile("\n" * line + block, str(PAGE), "exec"), space)
        except Exception as error:
            pytest.fail(f"{PAGE.name}, block at line {line}: {type(error).__name__}: {error}")
    assert {"rig.glb", "arm.sinew", "flag.abc"} <= set(os.listdir(tmp_path))
