"""What can go wrong in a capture that is not a fault of this program."""


class CaptureError(Exception):
    """A program could not be captured; the text says why and what to do."""
