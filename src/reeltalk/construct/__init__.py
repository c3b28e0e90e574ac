"""Construct: from clips to question chains, linkages, dialogue paths and dialogues across scenes."""
