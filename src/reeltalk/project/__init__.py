"""A project: one YAML file of settings. Each section is a command line, which runs again only if something changed.

There is no engine: every step is one command of reeltalk, printed before it runs, and can be run by hand. The command
line declares the options of each command, and stages do the work. Begin with `steps`.
"""
