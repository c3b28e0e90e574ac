"""A project: one YAML file of settings. Each section is a command, which runs again only if something changed.

Every step is one command of reeltalk, which is printed before it runs, so you can also run it by hand. The command line
declares the options of each command, and stages do the work. Begin with `steps`.
"""
