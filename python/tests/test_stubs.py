"""The type stubs: complete for mypy in strict mode, and true of the module."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import ambo
from ambo import _ambo

PACKAGE = Path(ambo.__file__).parent


def test_mypy_has_nothing_to_say() -> None:
    api = pytest.importorskip("mypy.api")
    typed = str(Path(__file__).parent / "typed.py")
    shown, errors, status = api.run(["--strict", "--no-incremental", "--cache-dir=/dev/null", str(PACKAGE), typed])
    assert status == 0, shown + errors


def test_pyright_has_nothing_to_say(tmp_path: Path) -> None:
    """Pyright in strict mode, as basedpyright has it: that brings its own Node."""
    pytest.importorskip("basedpyright")
    typed = Path(__file__).parent / "typed.py"
    settings = {"typeCheckingMode": "strict", "include": [str(PACKAGE), str(typed)], "pythonVersion": "3.11", "extraPaths": [str(PACKAGE.parent)]}
    # Libraries that may be there or not, and have no types.
    settings |= {"reportMissingImports": False, "reportMissingTypeStubs": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--project", str(tmp_path), "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_name_what_is_there() -> None:
    stubs = ast.parse((PACKAGE / "_ambo.pyi").read_text())
    for of in stubs.body:
        if not isinstance(of, ast.ClassDef) or not hasattr(_ambo, of.name):
            continue
        there = getattr(_ambo, of.name)
        known = {part.name for part in of.body if isinstance(part, ast.FunctionDef)}
        known |= {part.target.id for part in of.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)}
        assert {name for name in known if not hasattr(there, name)} == set(), of.name
        public = {name for name, _ in inspect.getmembers(there) if not name.startswith("_")}
        inherited = {"keys", "values", "items", "get", "pop", "popitem", "clear", "update", "setdefault"} if of.name == "KeyValue" else set()
        assert public - known - inherited == set(), of.name


def test_the_examples_of_the_extension_are_right() -> None:
    runner, done = doctest.DocTestRunner(), 0
    for of in (_ambo.BaseConnection, _ambo.Cursor, _ambo.KeyValue):
        for name, member in vars(of).items():
            for example in doctest.DocTestFinder().find(member, name, module=False, globs={}) if member.__doc__ else []:  # type: ignore[arg-type]
                done += runner.run(example).attempted
    assert runner.failures == 0 and done > 20, done


def test_what_is_public_is_described() -> None:
    for name in ambo.__all__:
        of = getattr(ambo, name)
        assert of.__doc__, name
        for part, member in inspect.getmembers(of):
            if not part.startswith("_") and callable(member) and getattr(member, "__module__", "x") != "builtins" and not inspect.isclass(member):
                assert member.__doc__, f"{name}.{part}"
