"""The version of reeltalk. Every file that reeltalk writes names it."""

__version__ = "0.2.0"
