"""Loads the plugin that runs your code, explains failures and prints your points."""

pytest_plugins = ["autograder.kit.plugin"]
