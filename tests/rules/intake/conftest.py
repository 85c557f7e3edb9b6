"""The reader of the tests, with Shanghai as the zone of naive times."""

from zoneinfo import ZoneInfo

import pytest

from rules.intake.reader import Intake


@pytest.fixture(scope="session")
def intake() -> Intake:
    return Intake(ZoneInfo("Asia/Shanghai"))
