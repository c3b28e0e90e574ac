"""Results of runs as values: leaderboards, comparisons, profiles, calibration of judges, statistics of benchmarks.

Statistics are left to `metrics`, and pages and figures to `pages`. Begin with `leaderboard`, then `turn_scores` for
single turns and `comparison` for two models.
"""
