"""Films a simulated household, and knows every fact about its videos exactly.

Questions about the films are left to `questions` and `construct`, and drawing and encoding to `video`. Begin with
`house`, then `situation` and `film`.
"""
