"""What people see: sanitized text, coloured tokens and pieces, tables, pictures and pages.

Everything printed for people passes through `visible`, numbers for people through `numbers`, and `console` decides
whether to use colours. The views of `split`, `stacks` and `pages` have a folder each, every other view is a module.
Results come from `tokcli.analysis` and the engine as plain data; printing is left to `tokcli.cli`. Modules that need
rich import it at their top, so that only commands that write to a terminal load them.
"""
