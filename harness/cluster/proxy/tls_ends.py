"""TLS of a proxy's listener: it ends the clients' connections, and begins its own to the broker."""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harness.model.tls import Tls


@dataclass(frozen=True)
class TlsEnds:
    """What the proxy shows to clients, a certificate and its key (PEM), and what it trusts and shows when it
    connects to the broker. A client's own certificate does not reach the broker, which sees the proxy's."""

    certificate: str
    key: str = field(repr=False)
    broker: Tls

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> TlsEnds:
        return cls(given["certificate"], given["key"], Tls(**given["broker"]))

    @cached_property
    def for_clients(self) -> ssl.SSLContext:
        """The context of the listener. Raises ssl.SSLError: the certificate or key is none."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        # Python reads them from files only.
        with tempfile.NamedTemporaryFile("w") as both:
            both.write(f"{self.key}\n{self.certificate}\n")
            both.flush()
            context.load_cert_chain(both.name)
        return context
