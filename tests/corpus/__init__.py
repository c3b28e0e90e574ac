"""Small films and side files as the tools of the world write them, each with what is right about it."""
