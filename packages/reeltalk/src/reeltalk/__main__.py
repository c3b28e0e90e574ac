"""`python -m reeltalk` is `reeltalk`."""

from reeltalk.cli import main

main()
