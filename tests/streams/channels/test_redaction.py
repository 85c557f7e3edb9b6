"""Text from outside is made safe before anybody sees it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.channels.redaction import plain, scrub, url_secrets

URL = "https://open.feishu.cn/open-apis/bot/v2/hook/3f1c-token-9a?key=abcdefgh"


def test_hidden_characters_are_dropped() -> None:
    """Marks that reverse, hide or break a line cannot get into a message."""
    assert plain("a\u202eb\u200bc\r\nd\x00e\ud800f", 20) == "abc def"


@given(st.text(), st.integers(1, 50))
def test_plain_text_is_bounded_and_on_one_line(text: str, limit: int) -> None:
    """Whatever comes in, at most `limit` printable characters come out, encodable as UTF-8."""
    shown = plain(text, limit)
    assert len(shown) <= limit
    assert "\n" not in shown
    shown.encode()


def test_cutting_leaves_a_mark() -> None:
    """A reader sees that something was left out."""
    assert plain("abcdef", 4) == "abc…"
    assert plain("abcd", 4) == "abcd"


def test_an_echoed_url_is_blanked() -> None:
    """A receiver that repeats our URL, its token or our secret does not get them into our log."""
    said = f"bad hook {URL} token 3f1c-token-9a key abcdefgh secret s3cret-value"
    shown = scrub(said, ["s3cret-value", *url_secrets(URL)], limit=500)
    assert "token-9a" not in shown
    assert "abcdefgh" not in shown
    assert "s3cret" not in shown
    assert shown.startswith("bad hook ***")


def test_addresses_are_blanked_even_if_they_are_not_ours() -> None:
    """Any URL may hold somebody's token."""
    assert scrub("see http://host/hook/other-token now", []) == "see *** now"
