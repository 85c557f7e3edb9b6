"""Whose call it is, by its address."""

from __future__ import annotations

import pytest
from blastdoor_gateway.address import ban_names, client_address, networks, rate_name
from hypothesis import given
from hypothesis import strategies as st

PROXIES = networks(["10.0.0.0/8", "2001:db8:ffff::/48"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        pytest.param("203.0.113.9", "1.1.1.1", "203.0.113.9", id="a stranger's header is not believed"),
        pytest.param("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9", id="what the client wrote stands further left"),
        pytest.param("10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9", id="over two proxies"),
        pytest.param("10.0.0.1", "", "10.0.0.1", id="a proxy's own call"),
        pytest.param("10.0.0.1", "10.0.0.3", "10.0.0.3", id="only proxies"),
        pytest.param("2001:db8:ffff::1", "2001:db8::7", "2001:db8::7", id="IPv6"),
    ],
)
def test_only_configured_proxies_are_believed(peer: str, forwarded: str, client: str) -> None:
    """X-Forwarded-For counts from the right, as far as trusted proxies wrote it."""
    assert client_address(peer, forwarded, PROXIES) == client


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:8080", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_what_shares_a_rate(address: str, name: str) -> None:
    """An IPv4 address, in whatever clothes, or the /64 of an IPv6 one."""
    assert rate_name(address) == name


def test_a_ban_may_stand_on_a_network() -> None:
    """The address itself and the networks around it are looked up."""
    assert ban_names("203.0.113.9") == ("203.0.113.9", "203.0.113.9/32", "203.0.113.0/24")
    assert "2001:db8:1:2::/64" in ban_names("2001:db8:1:2::9")


@given(st.text(max_size=100), st.text(max_size=200))
def test_nothing_a_client_sends_raises(peer: str, forwarded: str) -> None:
    """Addresses are made of whatever arrives."""
    address = client_address(peer, forwarded, PROXIES)
    assert len(rate_name(address)) <= 64
    assert ban_names(address)
