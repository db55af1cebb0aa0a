"""The least and the greatest bigint, which stand for times and offsets before and after all others."""

from __future__ import annotations

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
