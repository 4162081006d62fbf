"""`count --tree`: folders with the sums of what is in them, in lines (count_tree.py), on a screen, and as a page."""
