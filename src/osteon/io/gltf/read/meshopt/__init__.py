"""Buffer views that meshoptimizer compressed: three codecs and four filters."""
