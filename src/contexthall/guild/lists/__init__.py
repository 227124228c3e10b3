"""Which tools a member offers: cached, approved, named, found."""
