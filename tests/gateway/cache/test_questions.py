"""Which questions are the same, which are near, and which only look alike."""

from __future__ import annotations

from dataclasses import replace

import pytest
from blastdoor_gateway.cache.normal import core, normal
from blastdoor_gateway.cache.question import Audience, Question, Questions
from hypothesis import given
from hypothesis import strategies as st

AUDIENCE = Audience(tenant="a")


def met(first: str, second: str, audience: Audience = AUDIENCE) -> str:
    """Under what the second question finds the answer to the first."""
    questions = Questions()
    known = questions.ask(first, AUDIENCE)
    questions.answered(known)
    asked = questions.ask(second, audience)
    if asked.same == known.same:
        return "same"
    return "near" if asked.near is not None and asked.near == known.near else "miss"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("差旅报销标准是什么？", "差旅报销标准是什么"),
        ("ＡＢＣ 公司的 年假？", "abc 公司的年假"),
        ("What is the  travel policy?", "what is the travel policy"),
        ("“年假”有几天", "年假有几天！"),
    ],
)
def test_writings_of_one_question_are_the_same(first: str, second: str) -> None:
    """Width, case, spaces, quotes and the signs of sentences do not matter."""
    assert met(first, second) == "same"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("请问北京分公司差旅报销标准是什么", "北京分公司差旅报销标准是什么呢，谢谢"),
        ("hello, could you tell me what the travel policy is", "what the travel policy is, please"),
        ("how do I request a reimbursement for travel", "how do I request a reimburssement for travel"),
        ("which documents does the department require", "which documents does the deparmtent require"),
    ],
)
def test_courtesies_and_slips_are_near(first: str, second: str) -> None:
    """Greetings before, thanks after, a doubled or swapped letter in a long word."""
    assert met(first, second) == "near"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("Hello world", "What is 1+1?", id="short and unrelated"),
        pytest.param("2025 年的差旅报销标准是什么样的", "2026 年的差旅报销标准是什么样的", id="another year"),
        pytest.param("报销 3.5 万元需要谁来审批签字", "报销 35 万元需要谁来审批签字", id="another number"),
        pytest.param("meeting at 10:30 with the whole team", "meeting at 1030 with the whole team", id="a time"),
        pytest.param("这个费用可以报销给员工本人吗", "这个费用不可以报销给员工本人吗", id="negated"),
        pytest.param("can employees be reimbursed for travel", "can employees not be reimbursed for travel", id="not"),
        pytest.param("is this insurance covered by the plan", "is this insurance uncovered by the plan", id="un-"),
        pytest.param("is this behaviour typical for the plan", "is this behaviour atypical for the plan", id="a-"),
        pytest.param("请问北京分公司的差旅报销标准是多少钱", "请问南京分公司的差旅报销标准是多少钱", id="another city"),
        pytest.param("does alice owe bob the money", "does bob owe alice the money", id="another order"),
        pytest.param("what does C# say about this topic", "what does C say about this topic", id="a sign"),
        pytest.param("北京的年假", "南京的年假", id="short Chinese"),
        pytest.param("who can prescribe this medicine for me", "who can proscribe this medicine for me", id="a letter"),
        pytest.param(
            "what is the travel policy of the company", "这家公司的差旅政策是什么样子的呢", id="another language"
        ),
    ],
)
def test_what_only_looks_alike_is_missed(first: str, second: str) -> None:
    """Numbers, dates, negation, names, order and language make another question."""
    assert met(first, second) == "miss"


@pytest.mark.parametrize(
    "other",
    [
        replace(AUDIENCE, tenant="b"),
        replace(AUDIENCE, knowledge_base="handbook"),
        replace(AUDIENCE, permissions=frozenset({"finance"})),
        replace(AUDIENCE, user="u"),
        replace(AUDIENCE, model="m"),
        replace(AUDIENCE, history=("hello",)),
    ],
)
def test_an_answer_is_good_for_its_audience_only(other: Audience) -> None:
    """Another tenant, knowledge base, permission, user, model or conversation never gets it."""
    assert met("what is my account balance at the moment", "what is my account balance at the moment", other) == "miss"


def test_parts_of_an_audience_do_not_run_together() -> None:
    """A tenant that is called like another one with its knowledge base is another audience."""
    assert Audience(tenant="a", knowledge_base="b").digest() != Audience(tenant="ab").digest()
    assert Audience(tenant="a", history=("x", "y")).digest() != Audience(tenant="a", history=("xy",)).digest()


@given(st.text(max_size=200))
def test_a_normal_form_is_its_own(text: str) -> None:
    """Nothing raises; to normalise again changes nothing; a core is a part of its question."""
    once = normal(text)
    assert core(once) in once
    asked = Questions().ask(text, AUDIENCE)
    assert isinstance(asked, Question)
    assert text not in "".join(asked.digests) or len(text) < 8
