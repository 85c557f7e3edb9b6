"""Which kind of provider is made of an entry of the policy."""

from __future__ import annotations

from collections.abc import Mapping

from rules.policy import Provider as ProviderSpec
from streams.poll.provider import Provider, Surroundings


def build_provider(spec: ProviderSpec, secrets: Mapping[str, str], around: Surroundings) -> Provider:
    """The provider that the policy describes. Raises MissingExtraError."""
    # What one provider needs is not imported for another.
    match spec.kind:
        case "volcengine":
            from streams.poll.volcengine import VolcEngine  # noqa: PLC0415

            return VolcEngine(spec, secrets, around)
        case "aliyun":
            from streams.poll.aliyun import Aliyun  # noqa: PLC0415

            return Aliyun(spec, secrets, around)
        case "http":
            from streams.poll.document import HttpDocument  # noqa: PLC0415

            return HttpDocument(secrets["url"], secrets.get("token", ""), around)
        case _:
            from streams.poll.document import FileDocument  # noqa: PLC0415

            return FileDocument(around.folder / spec.path, around)
