"""What runs say, as values: leaderboards, comparisons, profiles, calibration of judges, statistics of benchmarks.

Statistics are left to `metrics`, and pages and figures that show these values to `pages`. Begin with `leaderboard`.
"""
