"""Videos in, clips and key frames out."""
