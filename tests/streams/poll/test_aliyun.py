"""Alibaba Cloud's list against a stand-in that checks signatures."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web

from rules.policy import Provider
from rules.providers.answer import Answer, Failure, Trouble
from streams.poll.aliyun import Aliyun, signed_headers
from streams.poll.provider import Surroundings


def test_the_signature_is_the_published_one() -> None:
    """The cloud's own example: same request, same signature."""
    headers = signed_headers(
        "ecs.cn-shanghai.aliyuncs.com",
        {"ImageId": "win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd", "RegionId": "cn-shanghai"},
        ("YourAccessKeyId", "YourAccessKeySecret"),
        now=1_698_315_752_000,
        nonce="3156853299f313e23d1673dc12e1703d",
        action="RunInstances",
        version="2014-05-26",
    )
    assert headers["x-acs-date"] == "2023-10-26T10:22:32Z"
    signature = headers["Authorization"].partition("Signature=")[2]
    assert signature == "06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"


def instance(name: str, left: object, **fields: Any) -> dict[str, Any]:
    return {
        "InstanceId": name, "PackageType": "bailian_qwen_tokens", "Remark": "通义千问 Token 包",
        "RemainingAmount": left, "RemainingAmountUnit": "Token", "TotalAmount": "1000000", "TotalAmountUnit": "Token",
        "EffectiveTime": "2026-11-01T00:00:00Z", "ExpiryTime": "2027-05-01T00:00:00Z", "Status": "Available",
    } | fields  # fmt: skip


class FakeAliyun:
    """Pages of instances, signatures checked; `answers` come first."""

    def __init__(self) -> None:
        self.instances: list[dict[str, Any]] = []
        self.answers: list[web.Response] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        if not _signed(request):
            return web.json_response({"Code": "SignatureDoesNotMatch", "Message": "POST / … AKTEST"}, status=400)
        if self.answers:
            return self.answers.pop(0)
        size, number = int(request.query["PageSize"]), int(request.query["PageNum"])
        rows = self.instances[(number - 1) * size : number * size]
        data = {"TotalCount": str(len(self.instances)), "Instances": {"Instance": rows}}
        return web.json_response({"Success": True, "Code": "Success", "Data": data})


def _signed(request: web.Request) -> bool:
    parts = dict(
        each.split("=", 1) for each in request.headers["Authorization"].removeprefix("ACS3-HMAC-SHA256 ").split(",")
    )
    names = parts["SignedHeaders"]
    lines = "".join(f"{name}:{request.headers[name]}\n" for name in names.split(";"))
    query = "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in sorted(request.query.items()))
    canonical = "\n".join(["POST", "/", query, lines, names, hashlib.sha256(b"").hexdigest()])
    text = f"ACS3-HMAC-SHA256\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    wanted = hmac.new(b"SKTEST", text.encode(), hashlib.sha256).hexdigest()
    return parts["Credential"] == "AKTEST" and hmac.compare_digest(wanted, parts["Signature"])


@pytest.fixture
async def cloud() -> AsyncIterator[FakeAliyun]:
    fake = FakeAliyun()
    application = web.Application()
    application.router.add_post("/", fake.answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    fake.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    yield fake
    await runner.cleanup()


def provider(cloud: FakeAliyun, around: Surroundings, secret: str = "SKTEST") -> Aliyun:
    spec = Provider(name="ali", kind="aliyun", host=cloud.url, packages={"qwen": ("bailian_qwen_tokens",)})
    return Aliyun(spec, {"access_key": "AKTEST", "secret_key": secret}, around)


async def test_a_balance_is_the_sum_over_all_pages(cloud: FakeAliyun, around: Surroundings) -> None:
    """250 packages on three pages; one of another unit counts for none."""
    cloud.instances = [instance(f"i-{n}", str(n)) for n in range(250)]
    cloud.instances[0] = instance("i-0", "9999", RemainingAmountUnit="次")
    answer = await provider(cloud, around).ask()
    assert isinstance(answer, Answer)
    assert [(balance.model, balance.available) for balance in answer.balances] == [("qwen", sum(range(250)))]
    assert [rest.id for rest in answer.leftovers] == ["i-0"]


async def test_a_wrong_secret_is_permanent(cloud: FakeAliyun, around: Surroundings) -> None:
    """And the request, which a signature error repeats, is not."""
    answer = await provider(cloud, around, "other").ask()
    assert isinstance(answer, Failure)
    assert (answer.trouble, str(answer)) == (Trouble.PERMANENT, "SignatureDoesNotMatch")


@pytest.mark.parametrize(
    ("status", "body", "trouble"),
    [
        (403, {"Code": "NotAuthorized", "Message": "no"}, Trouble.PERMANENT),
        (404, {"Code": "InvalidAccessKeyId.NotFound"}, Trouble.PERMANENT),
        (429, {"Code": "Throttling.User"}, Trouble.TEMPORARY),
        (200, {"Success": False, "Code": "InternalError"}, Trouble.TEMPORARY),
        (200, {"Success": True, "Data": None}, Trouble.TEMPORARY),
        (200, {"Success": True, "Data": {"TotalCount": "x", "Instances": {"Instance": []}}}, Trouble.TEMPORARY),
        (200, {"Success": True, "Data": {"TotalCount": "0", "Instances": {"Instance": []}}}, Trouble.TEMPORARY),
        (200, [], Trouble.TEMPORARY),
        (500, "no JSON", Trouble.TEMPORARY),
    ],
)
async def test_failures(cloud: FakeAliyun, around: Surroundings, status: int, body: object, trouble: Trouble) -> None:
    """An answer that is no list is no reading."""
    text = body if isinstance(body, str) else None
    cloud.answers = [web.Response(status=status, text=text) if text else web.json_response(body, status=status)]
    answer = await provider(cloud, around).ask()
    assert isinstance(answer, Failure)
    assert answer.trouble is trouble
