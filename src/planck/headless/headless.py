"""The one door: everything a frontend may do."""


class Planck:
    """An open home and workspace, from which sessions are started and resumed."""
