"""What so many videos take: cores, storage, tokens, graphics processors, people and money."""
