"""What do workers elsewhere answer of a cache?"""
