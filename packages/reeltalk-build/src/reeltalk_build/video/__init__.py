"""What curation reads from pixels in one pass: shots, sharpness, motion; and files that are joined."""
