"""What every producer that journals has, whatever its client is."""

from __future__ import annotations

from pathlib import Path

import pytest

from workloads.own.journaled_client import JournaledClient
from workloads.own.own_journal import OwnJournal
from workloads.own.producer_folder import ProducerFolder, ProducerTarget

pytestmark = pytest.mark.pure


class Silent(JournaledClient):
    def _give_up(self, timeout: float) -> None:
        """It has no report to wait for."""


def test_it_waits_until_the_first_step_has_begun(tmp_path: Path) -> None:
    folder = ProducerFolder(tmp_path)
    folder.create(ProducerTarget(run_id=1, topic="t"))
    number, file = folder.claim()
    producer = Silent(object(), folder, OwnJournal(file, number, folder.target()))
    assert not producer.wait_begun(0)
    assert not producer.wait_begun(0.1)
    folder.begin()
    assert producer.wait_begun()
    producer.end()
    producer.end()
    assert file.read_text().count('"end"') == 1, "to end it again does nothing"
