"""The command line: a module a command; each parses, calls a workflow and prints."""
