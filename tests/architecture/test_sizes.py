"""Small files, small functions, a word on what each is for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.tree import PRODUCT, parsed, sources, text

FILE_LINES = 400
FUNCTION_LINES = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> list[Function]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, Function)]


def length(function: Function) -> int:
    """Lines from `def` to the end, docstring included."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


@pytest.mark.parametrize("path", sources(*PRODUCT, "tests"), ids=str)
def test_files_are_read_in_one_sitting(path: Path) -> None:
    """No file is longer than 400 lines."""
    assert len(text(path).splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", sources(*PRODUCT, "tests"), ids=str)
def test_functions_fit_a_screen(path: Path) -> None:
    """No function is longer than 60 lines."""
    assert {function.name: length(function) for function in functions(path) if length(function) > FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", sources(*PRODUCT, "tests"), ids=str)
def test_a_file_says_what_it_is_for(path: Path) -> None:
    """Every file begins with a docstring."""
    assert ast.get_docstring(parsed(path)), "no docstring at its head"


@pytest.mark.parametrize("path", [path for path in sources("tests") if path.name.startswith("test_")], ids=str)
def test_a_test_states_its_rule(path: Path) -> None:
    """Every test has a docstring whose first line states the rule."""
    tests = [function for function in functions(path) if function.name.startswith("test_")]
    assert [test.name for test in tests if not ast.get_docstring(test)] == []
