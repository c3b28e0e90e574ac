"""reeltalk-mini, a small model that knows the household, and its weights. Begin with `mini`."""
