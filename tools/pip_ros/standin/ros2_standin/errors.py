"""What goes wrong for the user of the command."""


class CommandError(RuntimeError):
    """Printed without a traceback; the command ends with code 1."""
