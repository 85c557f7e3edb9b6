"""How many tokens a call is taken to use before anybody knows."""

from __future__ import annotations

ANSWER = 500
"""What an answer is taken to be long when the caller sets no bound."""


def estimate_of(prompt_characters: int, most_answer: int | None, most: int) -> int:
    """Half the characters of the prompt and the longest answer asked for, within 1 and `most`.

    Without a bound on the answer it is 500 tokens, never all that is left: a call that says nothing must not reserve a
    whole budget.
    """
    answer = ANSWER if most_answer is None or most_answer < 0 else most_answer
    return max(1, min(prompt_characters // 2 + answer, most))
