"""Small files, small functions, a word on what each is for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.architecture.tree import PRODUCT, files, parsed, sources, text

if TYPE_CHECKING:
    from pathlib import Path

FILE_LINES = 400
FUNCTION_LINES = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> list[Function]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, Function)]


def length(function: Function) -> int:
    """Lines from `def` to the end, docstring included."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_files_are_read_in_one_sitting() -> None:
    """No file is longer than 400 lines."""
    lengths = {str(path): len(text(path).splitlines()) for path in sources(*PRODUCT, "tests")}
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES} == {}


def test_rust_is_held_to_the_same() -> None:
    """Files of the counting core are as short, and their first line says what they are for."""
    rust = {str(path): text(path).splitlines() for path in files() if path.suffix == ".rs"}
    assert {path: len(lines) for path, lines in rust.items() if len(lines) > FILE_LINES} == {}
    assert [path for path, lines in rust.items() if not lines or not lines[0].startswith("//! ")] == []


def test_functions_fit_a_screen() -> None:
    """No function is longer than 60 lines."""
    all_functions = [(path, function) for path in sources(*PRODUCT, "tests") for function in functions(path)]
    assert [f"{path}:{each.lineno}" for path, each in all_functions if length(each) > FUNCTION_LINES] == []


def test_a_file_says_what_it_is_for() -> None:
    """Every file begins with a docstring."""
    assert [str(path) for path in sources(*PRODUCT, "tests") if not ast.get_docstring(parsed(path))] == []


def test_a_test_states_its_rule() -> None:
    """Every test has a docstring whose first line states the rule."""
    files = [path for path in sources("tests") if path.name.startswith("test_")]
    tests = [(path, each) for path in files for each in functions(path) if each.name.startswith("test_")]
    assert len(tests) > 0
    assert [f"{path}:{each.lineno}" for path, each in tests if not ast.get_docstring(each)] == []
