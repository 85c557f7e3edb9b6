"""Golden texts: what an operator reads for each kind of mistake, one `.txt` beside each wrong policy file."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.policy_file import PolicyError, load_policy

GOLDEN = Path(__file__).parents[1] / "golden" / "policy"
SECRET = "secret-token"
ENVIRONMENT = {"ADDRESS": f"https://hooks.example/T0/{SECRET}", "EMPTY": " ", "WORD": SECRET}


def messages(path: Path) -> str:
    with pytest.raises(PolicyError) as found:
        load_policy(path, ENVIRONMENT)
    return f"{found.value}\n".replace(str(path), path.name)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.yaml")), ids=lambda path: path.stem)
def test_messages_read_as_agreed(path: Path) -> None:
    """Each mistake has its line, its field and what was meant; a changed message is a changed golden text."""
    assert messages(path) == path.with_suffix(".txt").read_text()


def test_ten_mistakes_list_ten() -> None:
    """An operator repairs the file once: every mistake is listed, and none twice."""
    assert len(messages(GOLDEN / "ten-mistakes.yaml").splitlines()) == 10


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_message_repeats_a_secret(path: Path) -> None:
    """Whatever stands where a secret belongs, or holds a URL, is never repeated."""
    found = messages(path)
    assert SECRET not in found
    assert "hunter2" not in found
    assert "0123-token" not in found
