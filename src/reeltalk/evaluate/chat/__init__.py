"""Talk to a video while it plays: what plays it, who answers, and the conversation."""
