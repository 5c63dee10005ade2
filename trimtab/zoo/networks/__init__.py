"""One network per module: `INPUT_SHAPE` and `build(net, x)`."""
