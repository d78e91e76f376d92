"""The plugin ``harness.pytest_plugin`` is installed with the project; nothing is needed here
but pytest's own helper for testing plugins."""

pytest_plugins = ["pytester"]
