"""What workers of the first story have to do without."""

from __future__ import annotations

from tests.faults import bare


def test_what_a_bare_installation_lacks() -> None:
    """Every extra and every tool of tests; nothing that a worker is made of."""
    absent = bare.absent()
    assert {"apprise", "matplotlib", "opentelemetry", "volcenginesdkbilling", "hypothesis", "pytest"} <= absent
    assert not {"aiokafka", "blastdoor_gateway", "faust", "msgspec", "redis", "rules", "streams"} & absent
