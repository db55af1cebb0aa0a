"""What a client trusts and shows over TLS, as data, and Python's context for it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Tls:
    """Trusted authorities and our own certificate. Without `trusted` (PEM) and `trusted_file` the system's
    authorities are trusted."""

    trusted: str | None = None
    trusted_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    check_name: bool = True
    check_certificate: bool = True

    @cached_property
    def context(self) -> ssl.SSLContext:
        """The context for connections. Raises OSError if a file cannot be read or is not a certificate
        (ssl.SSLError)."""
        if self.trusted is not None and not self.trusted.isascii():
            raise ssl.SSLError("the trusted certificates are not PEM: they contain a character beyond ASCII")
        context = ssl.create_default_context(cafile=self.trusted_file, cadata=self.trusted)
        context.check_hostname = self.check_name and self.check_certificate
        if not self.check_certificate:
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_file is not None:
            context.load_cert_chain(self.certificate_file, self.key_file, self.key_password or "")
        return context
