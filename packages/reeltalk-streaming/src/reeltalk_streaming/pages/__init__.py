"""Report pages on runs of models that may speak unasked."""
