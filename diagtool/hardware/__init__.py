"""What a device can do at most: the rules of its multiprocessors and the figures of its datasheet."""
