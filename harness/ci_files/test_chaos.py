"""A first test with real brokers and a fault. Run it with: pytest chaos"""

import pytest


@pytest.mark.chaos("experiment.yaml", arms=["safe"])
def test_our_settings_lose_nothing(chaos):
    chaos().assert_lost(0)
