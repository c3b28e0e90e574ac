"""Judge answers as the four papers do: each protocol fixed, and beside it as its official script reads."""
