"""An S3 store on 127.0.0.1 for tests (moto), and the environment that points clients at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyarrow import fs

BUCKET = "runs"


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """A store with one empty bucket; gives the environment variables of its clients."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        variables = {
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": "not-secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        }
        system(variables, allow_bucket_creation=True).create_dir(BUCKET)
        yield variables
    finally:
        server.stop()


def system(variables: dict[str, str], **options: bool) -> fs.S3FileSystem:
    return fs.S3FileSystem(
        access_key=variables["AWS_ACCESS_KEY_ID"],
        secret_key=variables["AWS_SECRET_ACCESS_KEY"],
        region=variables["AWS_REGION"],
        endpoint_override=variables["AWS_ENDPOINT_URL"],
        **options,
    )


def upload(folder: Path, name: str, variables: dict[str, str]) -> str:
    """Copy a local folder into the bucket; returns its URL."""
    fs.copy_files(
        str(folder),
        f"{BUCKET}/{name}",
        source_filesystem=fs.LocalFileSystem(),
        destination_filesystem=system(variables),
    )
    return f"s3a://{BUCKET}/{name}"
