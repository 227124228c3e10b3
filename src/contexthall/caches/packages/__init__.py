"""What do the installed packages say of themselves, at the versions that are installed?"""
