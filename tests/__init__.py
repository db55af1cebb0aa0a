"""The tests. A failed assertion of their helpers is explained as one of a test is."""

import pytest

pytest.register_assert_rewrite("tests.support", "tests.chaos.support")
