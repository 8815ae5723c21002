"""What the demo says when it cannot go on."""


class DemoError(Exception):
    """Something that the user can put right; the message says how."""
