"""What a customer has asked for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Order:
    """Some articles for somebody."""

    customer: str
    articles: tuple[str, ...]


def place(customer: str, *articles: str) -> Order:
    """Make an order of articles, which must be some."""
    if not articles:
        raise ValueError("an order needs articles")
    return Order(customer, articles)
