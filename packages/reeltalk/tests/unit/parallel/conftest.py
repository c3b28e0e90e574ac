"""What runs in processes is tested with processes that Python starts, not with forked ones as elsewhere."""

import subprocess

import pytest

from reeltalk_streaming.video import feed


@pytest.fixture(autouse=True)
def _started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "subprocess", subprocess)
