"""Train reeltalk-mini from nothing on a filmed household. Begin with `mini_training`."""
