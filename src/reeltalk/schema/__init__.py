"""What a benchmark contains: frozen records, and nothing that reads or writes them."""
