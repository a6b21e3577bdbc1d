"""credo beside named peers on the same data: seconds, ratio, quality, stored by commit."""
