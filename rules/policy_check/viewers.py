"""The section `viewers`: who may look at usage and decisions over HTTP, with which token, and of which tenant."""

from __future__ import annotations

from typing import Any

from rules.policy import Viewer
from rules.policy_check.delivery import reference
from rules.policy_check.inspection import Inspection
from rules.policy_check.values import Read, name, plain_name

VIEWER: dict[str, Read] = {"token": reference, "tenant": name}


def viewers(inspection: Inspection, raw: object) -> dict[str, Any]:
    found = {}
    for key, path, value in inspection.entries(("viewers",), raw, plain_name):
        given = inspection.fields(path, value, VIEWER, required=("token",))
        if "token" in given:
            found[key] = Viewer(name=key, **given)
    return {"viewers": found}
