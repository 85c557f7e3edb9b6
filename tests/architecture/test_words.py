"""Words that must not be in the tree: places of one machine, and hosts that an install has from its own settings."""

from __future__ import annotations

import re

from tests.architecture.tree import ROOT, files

# Written in pieces, so that this file is no finding of its own.
WORDS = (
    "../" + "shared",
    "/work" + "/",
    "py" + "pi.org",
    "python" + "hosted.org",
    "repo.maven." + "apache.org",
    "repo1." + "maven.org",
    "registry." + "npmjs",
    "crates" + ".io",
    "proxy." + "golang.org",
    "deb." + "debian.org",
)
FORBIDDEN = re.compile("|".join(re.escape(word) for word in WORDS).encode())
TEXT = {
    "", ".html", ".json", ".lock", ".lua", ".md", ".py", ".rs", ".sh", ".svg", ".toml", ".txt", ".xml", ".yaml", ".yml",
}  # fmt: skip


def test_nothing_points_to_one_machine() -> None:
    """No file names a registry's host or a place of one machine."""
    texts = {str(path): (ROOT / path).read_bytes() for path in files() if path.suffix in TEXT}
    assert {path: found for path, content in texts.items() if (found := FORBIDDEN.findall(content))} == {}
