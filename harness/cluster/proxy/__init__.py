"""A proxy that knows Kafka's protocol: it counts requests by API, and delays, holds, drops or answers those
that rules name.

The program (`python -m harness.cluster.proxy`) needs Python and kio alone, since it also runs in containers
beside nodes. `client.py` is what the harness talks to it with.
"""
