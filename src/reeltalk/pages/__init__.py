"""Reports as a static site: pages, figures and the files that they link.

What they show is computed in `analysis`. Begin with `stage`, which writes a site, and `site`, which pages are given.
"""
