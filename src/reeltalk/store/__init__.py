"""A benchmark on disk: typed tables, a manifest, media by content hash, and runs beside them.

Types of records are in `schema`; `store` reads, checks and writes them, and leaves their making to the stages. Begin
with `benchmark`, then `runs`.
"""
