"""The documented facts of every kind of scope whose rules are evaluated."""

from __future__ import annotations

from collections.abc import Mapping

from rules.control_facts import GLOBAL_FACTS, IP_FACTS, USER_FACTS
from rules.model_facts import MODEL_FACTS
from rules.scope_facts import FactSpec
from rules.tenant_facts import TENANT_FACTS

SCOPE_FACTS: Mapping[str, tuple[FactSpec, ...]] = {
    "model": MODEL_FACTS,
    "tenant": TENANT_FACTS,
    "user": USER_FACTS,
    "ip": IP_FACTS,
    "global": GLOBAL_FACTS,
}
