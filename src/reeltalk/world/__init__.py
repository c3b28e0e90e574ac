"""A small simulated household that films itself: videos of which every fact is known exactly."""
