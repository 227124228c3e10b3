"""Why a file cannot become text."""


class ConversionError(ValueError):
    """A file that cannot be converted; the message ends a sentence that begins with its name."""
