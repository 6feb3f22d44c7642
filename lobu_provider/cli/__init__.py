"""The command line, ``lobu-provider``: one file per command, named as the command.

The only package that imports click. stdout is for data, stderr for people.
"""
