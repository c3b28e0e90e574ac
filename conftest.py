"""Plugins of pytest for the tests of all packages; each is a module of `tools`."""

pytest_plugins = ("shared_fixtures", "browser_fixtures", "suite_plugin", "counted_tests", "own_processes")
