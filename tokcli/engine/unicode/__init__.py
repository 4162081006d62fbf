"""Unicode: which characters have which property, in the versions that the tokenizers of the field use.

Here are generated tables and what looks them up: ranges, properties, classes, lower case and normal forms. How text is
split or normalized with them is left to the tokenizers.
"""
