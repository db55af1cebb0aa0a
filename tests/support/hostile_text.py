"""Text that would be markup or a script where a page did not escape it."""

from __future__ import annotations

from tests.support.page_tags import Page

EVIL = "\"'><script>alert('x')</script><img src=x onerror=alert(1)>](javascript:alert(2))"


def harmless(text: str) -> None:
    """Nothing on this page runs or is fetched, and the text itself is still shown."""
    page = Page(text)
    assert not {"script", "img", "iframe", "object", "embed", "base"} & {tag for tag, _ in page.tags}
    running = [
        f"{name}={value}"
        for name, value in page.attributes
        if name.startswith("on") or "script:" in (value or "")
    ]
    assert running == []
    assert "<script>alert('x')</script>" in page.text, "the text itself must still be shown"
