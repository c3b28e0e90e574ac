"""A project: one YAML file of settings, read as command lines, each of which runs again only where something changed.

There is no engine: every step is one command of reeltalk, printed before it runs, and can be run by hand. The command
line says what a command can be told, and stages do the work. Begin with `steps`.
"""
