"""Questions in one form, so that writings of the same question meet.

Rule 1: what may change an answer stays: digits and the signs within numbers, operators, every word.
Rule 2: what is taken off the ends are phrases of politeness that ask nothing. Inside the question nothing is taken off.
"""

from __future__ import annotations

import re
import unicodedata

_SPACE = re.compile(r"\s+")
_QUOTES = str.maketrans("", "", "\"'`“”‘’「」『』《》")
# Signs that end or divide sentences; between digits they belong to a number (3.5, 1,000, 10:30).
_SENTENCE = re.compile(r"(?<!\d)[.,:;?!…。、·~]+|[;?!…。、·~]+|[.,:]+(?!\d)")
_BETWEEN_HAN = re.compile(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])")

_POLITE = (
    "请问一下", "请问", "你好", "您好", "麻烦问一下", "想问一下", "我想问一下", "我想知道", "请告诉我", "帮我查一下",
    "hello", "hi", "hey", "please", "could you tell me", "can you tell me", "please tell me", "tell me",
    "i want to know", "i would like to know",
)  # fmt: skip
_THANKS = ("谢谢", "谢谢你", "谢谢您", "多谢", "呢", "呀", "啊", "please", "thanks", "thank you")
# Longest first, so that nothing is left of a longer phrase.
_HEAD = re.compile("^(?:" + "|".join(re.escape(p) + r"(?![a-z])" for p in sorted(_POLITE, key=len, reverse=True)) + ")")
_TAIL = re.compile(
    "(?:" + "|".join(r"(?<![a-z])" + re.escape(p) for p in sorted(_THANKS, key=len, reverse=True)) + ")$"
)


def normal(question: str) -> str:
    """The question in one width, case and spacing, without the signs of sentences."""
    text = unicodedata.normalize("NFKC", question).casefold().translate(_QUOTES)
    text = _SENTENCE.sub(" ", text)
    return _BETWEEN_HAN.sub("", _SPACE.sub(" ", text).strip())


def core(text: str) -> str:
    """What is asked, of a normal question: without greetings before it and thanks after it."""
    while True:
        shorter = _TAIL.sub("", _HEAD.sub("", text).strip()).strip()
        if shorter == text or not shorter:
            return text
        text = shorter


def is_long(text: str) -> bool:
    """Whether there is enough of a core to be like another one: 8 Chinese characters or 4 words."""
    han = sum("\u3400" <= letter <= "\u9fff" for letter in text)
    return han >= 8 or len(text.split()) >= 4
