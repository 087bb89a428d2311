"""The figures and tables of the five papers, made again by this code: `osteon paper N`.

A paper is a package here with a list `ENTRIES`: one entry per figure and table, in the order of the paper. An entry
names the function that makes it. `registry.py` lists the papers, `run.py` makes entries, `page.py` and
`single_files.py` write them.
"""
