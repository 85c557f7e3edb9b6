"""The gate in front of a RAG service: ASGI middleware without a framework."""

from blastdoor_gateway.asgi.door import Ask, Door, Incoming, door_of
from blastdoor_gateway.asgi.middleware import BlastDoor

__all__ = ["Ask", "BlastDoor", "Door", "Incoming", "door_of"]
