"""Answerers without pretrained weights: the scores that need no video, or only learning from known answers.

Playing them and reading benchmarks is left to `evaluate`. Begin with `answerer`, the interface; then read `nearest`.
"""
