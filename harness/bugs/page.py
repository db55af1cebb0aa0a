"""The page of a run that reproduces known bugs."""

from __future__ import annotations

from functools import partial

from harness.suite import page

write_page = partial(page.write_page, heading="Known bugs of Kafka, reproduced")
"""Write the page of a run as `folder`/bugs.html."""
