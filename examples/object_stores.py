"""Keep a benchmark's media elsewhere: on an object store, or in a folder that several machines see.

python examples/object_stores.py benchmarks/kitchen s3://bucket/kitchen
python examples/object_stores.py benchmarks/kitchen file:///mnt/share/kitchen
"""

import sys

from reeltalk import Benchmark
from reeltalk.store.media_remote import pull, push, read_remote


def main(benchmark: str, address: str) -> None:
    """Push what is not there yet, read it back, and bring what is missing here."""
    opened = Benchmark.open(benchmark)
    planned = push(opened, address, dry_run=True)
    print(f"{planned.files} files of {planned.size_bytes / 1e6:.1f} MB to write, {planned.there} are there")
    pushed = push(opened, address, verify=True)
    print(f"{pushed.files} files written and read back; noted as {read_remote(opened.path)}")
    pulled = pull(opened)
    print(f"{pulled.files} files brought here, {len(pulled.absent)} are nowhere")


if __name__ == "__main__":
    main(*sys.argv[1:])
