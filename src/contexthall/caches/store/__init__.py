"""Where is a cache that is not on this machine?"""
