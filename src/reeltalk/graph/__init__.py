"""Knowledge graphs in RDF. The only home of pyoxigraph."""
