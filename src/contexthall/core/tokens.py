"""What does a text cost an agent? A token for every four bytes that have begun, whatever model reads it. Pure."""

BYTES_PER_TOKEN = 4
LARGEST_BUDGET = 2**63 - 1


def tokens(content: bytes) -> int:
    """Estimate what `content` costs."""
    return -(-len(content) // BYTES_PER_TOKEN)
