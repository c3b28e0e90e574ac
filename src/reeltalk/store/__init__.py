"""A benchmark on disk: typed tables, a manifest, media by content hash, and runs beside them."""
