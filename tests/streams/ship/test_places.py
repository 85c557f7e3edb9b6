"""Places survive, per target and file, and several processes may share the file they are kept in."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from streams.ship.places import BadPlaceFile, Place, Places

PLACE = Place(offset=12, line=3, inode=77, mark="ab")


def test_a_place_is_found_again(tmp_path: Path) -> None:
    """The folder need not exist."""
    file = tmp_path / "state" / "ship.json"
    Places(file, "k/p").remember("/a.log", PLACE)
    assert Places(file, "k/p").find("/a.log") == PLACE


def test_another_target_or_file_has_a_place_of_its_own(tmp_path: Path) -> None:
    """What one broker has acknowledged, another has not."""
    file = tmp_path / "ship.json"
    Places(file, "k/p").remember("/a.log", PLACE)
    assert Places(file, "k/p").find("/b.log") is None
    assert Places(file, "other/p").find("/a.log") is None


def test_shippers_that_share_the_file_do_not_forget_each_others_places(tmp_path: Path) -> None:
    """Each writes its own place and keeps the rest."""
    file = tmp_path / "ship.json"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: Places(file, "k/p").remember(f"/{n}.log", PLACE), range(40)))
    assert [Places(file, "k/p").find(f"/{n}.log") for n in range(40)] == [PLACE] * 40


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"k/p /a.log": 5}'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    """It is not overwritten, and the operator is told what to do."""
    file = tmp_path / "ship.json"
    file.write_bytes(content)
    places = Places(file, "k/p")
    with pytest.raises(BadPlaceFile, match="delete it"):
        places.find("/a.log")
    with pytest.raises(BadPlaceFile, match="delete it"):
        places.remember("/a.log", PLACE)
    assert file.read_bytes() == content
