"""The agents of this machine: the file in which each lists its servers, and the hall's entry in it."""
