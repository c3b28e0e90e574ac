"""Reports as a static site: pages, figures, and the files that they link.

Each module draws one page or one part of it; the numbers come from `analysis`. Begin with `stage`, which lists the
pages and writes a site, and `site`, which every page is given.
"""
