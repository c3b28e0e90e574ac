"""Play dialogues to whatever answers: what may be seen at a moment, in which order, with which history."""
