"""A benchmark on disk: typed tables, a manifest, media by content hash, and runs next to them.

Types of records are in `schema`; `store` reads, checks and writes them. The stages create them. Begin with `benchmark`,
then `runs`.
"""
