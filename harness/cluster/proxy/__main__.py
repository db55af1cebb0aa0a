"""The program: `python -m harness.cluster.proxy FILE`, which has its `ProxySpec` as JSON.

It prints "ready" when all its ports are open, and runs until it is told to stop.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from pathlib import Path

from harness.cluster.proxy.server import ProxySpec, run


def main() -> int:
    """The exit code: 3 if a port is taken."""
    spec = ProxySpec.from_json(json.loads(Path(sys.argv[1]).read_text()))
    # Nothing here is cyclic but connections, and a collection would delay what passes.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    try:
        asyncio.run(run(spec, lambda: print("ready", flush=True)))
    except OSError as error:
        print(f"the proxy cannot listen: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
