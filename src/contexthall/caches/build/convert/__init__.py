"""What does a file say, in text that can be split into sections?"""
