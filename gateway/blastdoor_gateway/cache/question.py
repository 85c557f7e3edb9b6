"""A question as it is known to Redis: digests, under which its answer may lie."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from blastdoor_gateway.cache.near import NearQuestions
from blastdoor_gateway.cache.normal import core, is_long, normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """For whom an answer is good. Whatever an answer may depend on belongs in here.

    `knowledge_base`: with its version, if it has one. `permissions`: what the caller may read. `user`: where answers
    are personal. `history`: the conversation before the question.
    """

    tenant: str
    knowledge_base: str = ""
    permissions: frozenset[str] = frozenset()
    user: str = ""
    model: str = ""
    history: tuple[str, ...] = ()

    def digest(self) -> str:
        """Told apart whenever any part differs."""
        parts = [self.tenant, self.knowledge_base, sorted(self.permissions), self.user, self.model, list(self.history)]
        return _digest(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`same` and `near` are digests; `core` and `audience` do not leave the process."""

    same: str
    near: str | None  # None: too short to be like another one
    core: str
    audience: str

    @property
    def digests(self) -> tuple[str, ...]:
        return (self.same,) if self.near is None else (self.same, self.near)


class Questions:
    """Makes questions of texts, and knows recent ones that are near."""

    def __init__(self) -> None:
        self._near = NearQuestions()

    def ask(self, text: str, audience: Audience) -> Question:
        """The question, under its own digest and, if it is long enough, under that of its core or of a near one."""
        plain, scope = normal(text), audience.digest()
        asked = core(plain)
        if not is_long(asked):
            return Question(same=_digest([scope, "same", plain]), near=None, core=asked, audience=scope)
        known = self._near.find(scope, asked) or asked
        return Question(
            same=_digest([scope, "same", plain]), near=_digest([scope, "core", known]), core=known, audience=scope
        )

    def answered(self, question: Question) -> None:
        """There is an answer to it now."""
        if question.near is not None:
            self._near.remember(question.audience, question.core)


def _digest(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:40]
