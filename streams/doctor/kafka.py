"""Looks at Kafka: whether it answers, what it is, and whether the topics are as they must be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.doctor.finding import Finding, error, fine, note, warning
from streams.settings import Settings
from streams.topics import COMPACTED, BrokerUnavailable, Topics, admin_client

PART = "kafka"
TABLES = ("meter", "route-balances", "route-controls", "judge", "notify")


async def examine(settings: Settings) -> list[Finding]:
    """What is to be said of the brokers and our topics."""
    try:
        async with admin_client(settings.kafka) as admin:
            cluster, topics = await admin.describe_cluster(), await admin.describe_topics()
            known = {found["topic"]: found for found in topics}
            configs = await _configs(admin, [name for name in known if name.startswith(f"{settings.prefix}.")])
    except BrokerUnavailable as away:
        advice = "check BLASTDOOR_KAFKA, and with TLS or SASL BLASTDOOR_KAFKA_SECURITY and its relatives"
        return [error(PART, str(away), advice)]
    return [_broker(settings, cluster), *_topics(settings, known, configs, len(cluster["brokers"]))]


def _broker(settings: Settings, cluster: Mapping[str, Any]) -> Finding:
    if str(cluster["cluster_id"]).startswith("tansu"):
        return warning(
            PART, f"the broker at {settings.kafka} is the embedded one", "use Apache Kafka: this one keeps nothing"
        )
    return fine(PART, f"{len(cluster['brokers'])} broker(s) answer at {settings.kafka}")


def _topics(
    settings: Settings, known: Mapping[str, Any], configs: Mapping[str, Mapping[str, str]], brokers: int
) -> Iterator[Finding]:
    topics = Topics(settings.prefix)
    if topics.usage not in known:
        yield warning(PART, f"there are no topics {settings.prefix}.*", "start a worker: it creates them")
        return
    partitions = len(known[topics.usage]["partitions"])
    wrong = 0
    for name in [*topics.configs, *(name for name in known if name.startswith(f"{settings.prefix}.worker-"))]:
        for finding in _topic(name, known.get(name), topics, configs.get(name, {}), partitions, brokers):
            wrong += 1
            yield finding
    if not wrong:
        yield fine(PART, f"all topics are there, {partitions} partitions each")


def _topic(
    name: str, found: Any, topics: Topics, config: Mapping[str, str], partitions: int, brokers: int
) -> Iterator[Finding]:
    if found is None:
        yield warning(PART, f"{name} is missing", "start a worker: it creates it")
        return
    count = len(found["partitions"])
    if count != partitions:
        advice = f"all topics need as many as {topics.usage}; create it anew while no worker runs"
        yield error(PART, f"{name} has {count} partitions, not {partitions}", advice)
    yield from _settings(name, topics.configs.get(name, COMPACTED), config)
    least = min((len(each["replicas"]) for each in found["partitions"]), default=1)
    if brokers > 1 and least < 2:
        yield warning(PART, f"{name} has a single replica on {brokers} brokers", "raise it to 3: a lost disk loses it")
    away = [each["partition"] for each in found["partitions"] if each["leader"] < 0]
    if away:
        yield error(PART, f"{name} has no leader for partitions {away}", "bring the brokers back that hold it")


def _settings(name: str, wanted: Mapping[str, str], config: Mapping[str, str]) -> Iterator[Finding]:
    policy = wanted["cleanup.policy"]
    if config and config.get("cleanup.policy", policy) != policy:
        harm = "old sums would come back" if policy == "compact" else "records with one key would vanish"
        yield error(
            PART, f"{name} has cleanup.policy={config['cleanup.policy']}", f"set it to {policy}: otherwise {harm}"
        )
    kept = config.get("retention.ms", "-1")
    if "retention.ms" in wanted and kept not in {"-1", wanted["retention.ms"]}:
        days, usual = int(kept) / 86_400_000, int(wanted["retention.ms"]) // 86_400_000
        advice = "what a worker has not read by then is lost; make it longer than any outage"
        level = warning if days < 1 else note
        yield level(PART, f"{name} keeps records for {days:.3g} days, usually {usual}", advice)


async def _configs(admin: AIOKafkaAdminClient, names: list[str]) -> dict[str, dict[str, str]]:
    """The settings of topics; of a broker that does not tell, none."""
    if not names:
        return {}
    answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names])
    return {
        resource[3]: {entry[0]: entry[1] for entry in resource[4]}
        for answer in answers
        for resource in answer.resources
        if not resource[0]
    }
