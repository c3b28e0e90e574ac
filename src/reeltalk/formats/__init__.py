"""Published layouts in and out, one module each: `read(source) -> Content`, `write(content, folder) -> list[str]`."""

FORMATS: dict[str, str] = {
    "vdact": "VDAct: dialogues, released model outputs, activity graphs (AAAI 2025)",
}
"""What each name on the command line means."""
