"""VolcEngine's SDK against a stand-in that checks signatures: every paging and every failure it is known for."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from rules.providers.answer import Answer, Failure, Trouble
from tests.streams.poll.fake_volcengine import FakeVolcEngine, error, listing, package, signature

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("volcenginesdkbilling") is None, reason="the extra `volcengine` is not installed"
)

Make = Callable[..., Any]


def left(answer: Answer | Failure) -> dict[str, int]:
    assert isinstance(answer, Answer), answer
    return {balance.model: balance.available for balance in answer.balances}


def failed(answer: Answer | Failure) -> Failure:
    assert isinstance(answer, Failure), answer
    return answer


def test_the_stand_in_signs_as_published() -> None:
    """The stand-in's arithmetic gives the known signature of a known request."""
    body = b'{"ResourceType": "Package", "MaxResults": "20", "NextToken": ""}'
    headers = {
        "Content-Type": "application/json",
        "Host": "open.volcengineapi.com",
        "X-Content-Sha256": "9f046529e23ed2cc5177e8784444d9e0c6d2d725203369dae9c540d7b4f9e869",
        "X-Date": "20260101T000000Z",
    }
    query = {"Action": "ListResourcePackages", "Version": "2022-01-01"}
    names, scope = "content-type;host;x-content-sha256;x-date", "20260101/cn-beijing/billing/request"
    found = signature("POST", query, headers, names, body, "SKTEST", scope)
    assert found == "de702dd3bc3a93cc6f78bf04d8098cec8996b4d99332f5c0ec65c39afc88f862"


async def test_a_balance_is_the_sum_over_all_pages(fake: FakeVolcEngine, volcengine: Make) -> None:
    """45 packages on three pages: all are counted, each page is asked for once."""
    fake.packages = [package(f"rpi-{n}", str(n)) for n in range(45)]
    answer = await volcengine().ask()
    assert left(answer) == {"flash": sum(range(45))}
    assert [asked["NextToken"] for _, asked in fake.asked if asked["Status"] == "Effective"] == ["", "20", "40"]
    assert all(asked["MaxResults"] == "20" for _, asked in fake.asked)


async def test_a_package_on_two_pages_counts_once(fake: FakeVolcEngine, volcengine: Make) -> None:
    """While packages come and go, pages overlap: the same instance counts once, at its lower amount."""
    fake.plan = [
        lambda: web.json_response(listing([package("a", "900"), package("b", "50")], "1000")),
        lambda: web.json_response(listing([package("b", "40"), package("c", 7)], "0")),
    ]
    assert left(await volcengine().ask()) == {"flash": 947}


@pytest.mark.parametrize("end", ["0", "", None], ids=["zero", "empty", "null"])
async def test_every_known_end_of_a_list_ends_it(fake: FakeVolcEngine, volcengine: Make, end: str | None) -> None:
    """The last page names no next one in any of three ways."""
    fake.plan = [lambda: web.json_response(listing([package("a", "5")], end))]
    assert left(await volcengine().ask())["flash"] == 5


async def test_an_empty_first_page_is_not_the_end(fake: FakeVolcEngine, volcengine: Make) -> None:
    """A filtered list may begin with an empty page that leads on."""
    fake.plan = [
        lambda: web.json_response(listing([], "20")),
        lambda: web.json_response(listing([package("a", "5")], "0")),
    ]
    assert left(await volcengine(products=("ark_bd",)).ask())["flash"] == 5
    assert fake.asked[0][1]["Product"] == "ark_bd"


async def test_a_token_that_stays_ends_the_list(fake: FakeVolcEngine, volcengine: Make) -> None:
    """A server that leads to the same page for ever is asked twice at most."""
    fake.plan = [lambda: web.json_response(listing([package("a", "5")], "20")) for _ in range(9)]
    assert left(await volcengine(packages={"flash": ("reward_flash",)}).ask()) == {"flash": 5}
    assert len(fake.asked) == 2


async def test_a_list_without_end_is_no_reading(fake: FakeVolcEngine, volcengine: Make) -> None:
    """A list that goes on and on is cut off, and half a list says nothing."""
    numbers = iter(range(1, 9999))
    fake.plan = [
        lambda: web.json_response(listing([package(f"p{n}", "5")], str(n)) if (n := next(numbers)) else {})
    ] * 300
    assert failed(await volcengine().ask()).code == "TooManyPages"


async def test_other_units_and_unknown_packages_are_shown_not_counted(fake: FakeVolcEngine, volcengine: Make) -> None:
    """Images are no tokens, and a package whose code only resembles a model's is not its."""
    fake.packages = [
        package("a", "5"),
        package("b", "100", Unit="张"),
        package("c", "100", ConfigurationCode="reward_flash_mini", ConfigurationName="mini"),
        package("d", "7", ConfigurationCode="bd_test_reward_pack_seed_1_6"),
    ]
    answer = await volcengine().ask()
    assert left(answer) == {"flash": 5, "seed": 7}
    assert isinstance(answer, Answer)
    assert [(rest.id, rest.why) for rest in answer.leftovers] == [
        ("b", "its unit is '张', not token"),
        ("c", "no model of the policy names it"),
    ]


async def test_an_unreadable_package_makes_its_model_unknown(fake: FakeVolcEngine, volcengine: Make) -> None:
    """Neither a smaller sum nor zero: no balance for that model, and the others keep theirs."""
    fake.packages = [
        package("a", "5"),
        package("b", "much"),
        package("c", "9", ConfigurationCode="bd_seed_1_6"),
        package("z", "0", Status="UsedUp"),
    ]
    answer = await volcengine().ask()
    assert left(answer) == {"seed": 9}


async def test_a_model_with_only_used_up_packages_has_nothing(fake: FakeVolcEngine, volcengine: Make) -> None:
    """Nothing left is a reading where the used-up packages are listed; a model never seen stays unknown."""
    fake.packages = [package("old", "0", Status="UsedUp"), package("x", "9", ConfigurationCode="other")]
    answer = await volcengine().ask()
    assert left(answer) == {"flash": 0}


async def test_an_account_without_packages_gives_no_reading(volcengine: Make) -> None:
    """An empty answer is no balance of zero."""
    assert failed(await volcengine().ask()).code == "Empty"


async def test_a_package_that_vanished_is_looked_for_again(fake: FakeVolcEngine, volcengine: Make) -> None:
    """One that slipped between two pages is found at a second look, before anybody hears of a lower balance."""
    provider = volcengine(packages={"flash": ("reward_flash",)})
    fake.packages = [package("a", "5"), package("b", "6")]
    assert left(await provider.ask()) == {"flash": 11}
    fake.plan = [lambda: web.json_response(listing([package("a", "5")], "0"))]
    assert left(await provider.ask()) == {"flash": 11}


async def test_amounts_may_be_numbers_or_decimal_text(fake: FakeVolcEngine, volcengine: Make) -> None:
    """Fractions are rounded down, an overdrawn package has nothing left."""
    fake.packages = [package("a", 5), package("b", "6.9"), package("c", "-3"), package("d", "1E+2")]
    assert left(await volcengine().ask()) == {"flash": 111}


async def test_deductions_say_how_far_usage_is_settled(fake: FakeVolcEngine, volcengine: Make) -> None:
    """Where the newest deduction left what the list shows, usage is settled up to the end of what it covers."""
    fake.packages = [package("a", "500")]
    fake.deductions = [
        {"InstanceNo": "a", "EndTime": "2026-11-29T22:40:00Z", "AfterAmount": "500"},
        {"InstanceNo": "a", "EndTime": "2026-11-29T22:20:00Z", "AfterAmount": "700"},
    ]
    answer = await volcengine(settled=True).ask()
    assert isinstance(answer, Answer)
    assert answer.balances[0].settled_until == 1_795_992_000_000
    fake.deductions[0]["AfterAmount"] = "499"
    answer = await volcengine(settled=True).ask()
    assert isinstance(answer, Answer)
    assert answer.balances[0].settled_until is None


@pytest.mark.parametrize(
    ("code", "number", "status"),
    [
        ("InvalidAccessKey", 100009, 401),
        ("SignatureDoesNotMatch", 100010, 401),
        ("AccessDenied", 100013, 403),
        ("InvalidActionOrVersion", 100008, 404),
        ("AccessDenied", 100013, 200),
    ],
)
async def test_permanent_failures(fake: FakeVolcEngine, volcengine: Make, code: str, number: int, status: int) -> None:
    """What only the operator can cure is called permanent, and is asked for once."""
    fake.plan = [lambda: web.json_response(error(code, number, "keys AKTEST and SKTEST"), status=status)]
    found = failed(await volcengine().ask())
    assert (found.trouble, found.code) == (Trouble.PERMANENT, code)
    assert len(fake.asked) == 1
    assert "SKTEST" not in str(found)
    assert "AKTEST" not in str(found)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda: web.json_response(error("InternalError", 100014), status=500), "InternalError"),
        (lambda: web.json_response(error("InternalServiceTimeout", 100016), status=504), "InternalServiceTimeout"),
        (lambda: web.json_response(error("InvalidTimestamp", 100006), status=400), "InvalidTimestamp"),
        (lambda: web.json_response(error("FlowLimitExceeded", 1), status=429), "FlowLimitExceeded"),
        (lambda: web.json_response(error("FlowLimitExceeded", 1)), "FlowLimitExceeded"),
        (lambda: web.Response(status=502, text="<html>Bad Gateway</html>"), "HTTP 502"),
        (lambda: web.Response(text="<html>"), None),
        (lambda: web.Response(text=""), None),
        (lambda: web.json_response({}), None),
        (lambda: web.json_response([]), None),
        (lambda: web.json_response({"ResponseMetadata": {}, "Result": None}), None),
        (lambda: web.json_response({"ResponseMetadata": {}, "Result": {}}), "Empty"),
        (lambda: web.Response(body=b"\xff\xfe"), None),
    ],
)
async def test_temporary_failures(
    fake: FakeVolcEngine, volcengine: Make, answer: Callable[[], web.Response], code: str | None
) -> None:
    """Whatever else comes back is no reading, and worth another try."""
    fake.plan = [answer]
    found = failed(await volcengine().ask())
    assert found.trouble is Trouble.TEMPORARY
    assert code is None or found.code == code


@pytest.mark.parametrize("rows", [[{}], "no"])
async def test_rows_of_another_shape_make_no_balance(fake: FakeVolcEngine, volcengine: Make, rows: object) -> None:
    """What stands where a package belongs is shown and counts for nothing, not for zero."""
    fake.plan = [lambda: web.json_response({"ResponseMetadata": {}, "Result": {"List": rows}})]
    assert left(await volcengine().ask()) == {}


async def test_a_failure_on_a_later_page_spoils_the_poll(fake: FakeVolcEngine, volcengine: Make) -> None:
    """Half a list is no reading."""
    fake.plan = [
        lambda: web.json_response(listing([package("a", "5")], "20")),
        lambda: web.json_response(error("InternalError", 100014), status=500),
    ]
    assert failed(await volcengine().ask()).code == "InternalError"


async def test_a_wrong_key_is_noticed(volcengine: Make) -> None:
    """The stand-in refuses a signature made with another secret, and an unknown key."""
    assert failed(await volcengine(secret="other").ask()).code == "SignatureDoesNotMatch"
    assert failed(await volcengine(access="AKELSE").ask()).code == "InvalidAccessKey"


async def test_nobody_there(fake: FakeVolcEngine, volcengine: Make) -> None:
    """A refused connection is a temporary failure without a trace of the address."""
    found = failed(await volcengine(host="http://127.0.0.1:1").ask())
    assert found.trouble is Trouble.TEMPORARY
    assert "127.0.0.1" not in str(found)
