"""Whose call it is, by its address: which proxies are believed, and what counts as one caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

HOUSEHOLD = 64
"""An IPv6 customer has at least a /64: addresses within it are one caller."""

WIDER = {4: (32, 24), 6: (128, 64, 48)}
"""Networks around an address for which a ban is looked up; an operator bans one of these."""


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks or single addresses; raises ValueError for anything else."""
    return tuple(ip_network(text, strict=False) for text in texts)


def client_address(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """The address a call comes from: the peer, unless the peer is a trusted proxy.

    Then it is the last address in X-Forwarded-For that no trusted proxy has: what stands before that one was written by
    the caller and may be anything.
    """
    hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
    address = peer
    while hops and _is_within(address, trusted):
        address = hops.pop()
    return address


@lru_cache(maxsize=8_192)
def rate_name(address: str) -> str:
    """What shares one rate: an IPv4 address, the /64 of an IPv6 one. What is no address stands for itself."""
    found = _parse(address)
    if found is None:
        return address[:64]
    return str(found) if found.version == 4 else str(ip_network((found, HOUSEHOLD), strict=False))


@lru_cache(maxsize=8_192)
def ban_names(address: str) -> tuple[str, ...]:
    """The scopes under which a ban may stand: the address, and networks around it."""
    found = _parse(address)
    if found is None:
        return (address[:64],)
    return (str(found), *(str(ip_network((found, bits), strict=False)) for bits in WIDER[found.version]))


def _parse(address: str) -> IPv6Address | IPv4Address | None:
    """The address without a port or zone; an IPv4 address in IPv6 clothes is one caller with the naked one."""
    text = address.strip().partition("%")[0]
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found


def _is_within(address: str, trusted: Sequence[Network]) -> bool:
    found = _parse(address)
    return found is not None and any(found in network for network in trusted if network.version == found.version)
