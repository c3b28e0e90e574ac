"""Measures of what building makes: identities of objects, and agreement of tags."""
