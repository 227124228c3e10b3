"""Orders and what they cost."""

from shop.orders import Order, place
from shop.prices import total

__all__ = ["Order", "place", "total"]
