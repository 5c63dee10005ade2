"""What formats have in common: one form in the engine's operators for what they call by many names.

A network becomes the same program from every format that can express it, because handlers say here
what they mean. Functions take the layer that operators are added for, and operands.
"""
