"""The hall's page, and what is behind it: for people who would rather look than read."""
