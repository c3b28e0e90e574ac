"""Benchmarks and runs on disk: typed tables, a manifest, and media by content hash.

Types of records are in `schema`; `store` reads, checks and writes them. The stages create them. Begin with `benchmark`,
then `runs`.
"""
