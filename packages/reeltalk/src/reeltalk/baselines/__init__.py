"""Answerers without pretrained weights: the scores that need no video, or only learning from known answers.

`evaluate` plays them and reads benchmarks. Begin with `answerer`, the interface; then read `nearest`.
"""
