"""The page of a run of claims."""

from __future__ import annotations

from functools import partial

from harness.claims import plots
from harness.suite import page

write_page = partial(
    page.write_page, heading="Claims on Kafka's guarantees, put to the test", draw=plots.draw
)
"""Write the page of a run of claims as `folder`/claims.html."""
