"""Kinds of review work: review turns, link chains, label, rate, take the test. One module for each kind."""
