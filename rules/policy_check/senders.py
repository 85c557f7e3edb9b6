"""The section `senders`: who may send events over HTTP, with which token, and what."""

from __future__ import annotations

from typing import Any

from rules.policy import Sender
from rules.policy_check.delivery import reference
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.values import Read, choice, plain_name

MAY = ("usage", "balances", "controls")
"""What can be allowed. Who may send balances can raise a limit, who may send controls can lift it."""

SENDER: dict[str, Read] = {"token": reference, "may": anything}


def senders(inspection: Inspection, raw: object) -> dict[str, Any]:
    found = {}
    for key, path, value in inspection.entries(("senders",), raw, plain_name):
        given = inspection.fields(path, value, SENDER, required=("token",))
        if "may" in given:
            read = [
                inspection.value(at, word, choice(MAY)) for at, word in inspection.items((*path, "may"), given["may"])
            ]
            given["may"] = tuple(dict.fromkeys(word for word in read if word is not None))
        if "token" in given:
            found[key] = Sender(name=key, **given)
    return {"senders": found}
