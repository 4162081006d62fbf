"""Pages of `--html`: one HTML file each, with its style, its program and its data, which needs no network.

`page` puts a page together from the files here, `page_columns` packs the data.
The scripts show data as text only, never as HTML. What is encoded, split or looked up is left to the commands.
"""
