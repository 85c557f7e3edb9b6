"""The table of rights in docs/security.md, as Kafka's own access control lists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ROW = re.compile(r"\| (\w+) \| ([\w, ]+) \| (topic|topics|group) (.+?) \|")

# Numbers of Kafka's protocol.
RESOURCES = {"topic": 2, "topics": 2, "group": 3}
OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
LITERAL, PREFIXED, ALLOW = 3, 4, 3


class Right(NamedTuple):
    """One operation of a principal on one topic or group, or on all whose names begin so (`…*`)."""

    principal: str
    operation: str
    resource: str
    name: str

    def request(self) -> CreateAclsRequest:
        pattern = PREFIXED if self.name.endswith("*") else LITERAL
        return CreateAclsRequest(
            RESOURCES[self.resource],
            self.name.removesuffix("*"),
            pattern,
            f"User:{self.principal}",
            "*",
            OPERATIONS[self.operation],
            ALLOW,
        )


def documented() -> list[Right]:
    """Every right that the page gives."""
    return [
        Right(principal, operation.strip(), resource, name)
        for principal, operations, resource, names in ROW.findall(PAGE.read_text(encoding="utf-8"))
        for operation in operations.split(",")
        for name in re.findall(r"`([^`]+)`", names)
    ]


async def grant(kafka: str, rights: list[Right]) -> None:
    """By somebody who may."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        for right in rights:
            answer = await admin._client.send(admin._client.get_random_node(), right.request())
            assert [response[0] for response in answer.creation_responses] == [0], (right, answer)
    finally:
        await admin.close()
