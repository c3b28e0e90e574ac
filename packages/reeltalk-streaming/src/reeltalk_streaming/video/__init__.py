"""Videos as they arrive: a file at its own pace, or a camera."""
