"""Networks that building asks: detectors, shot boundaries, aesthetics and taggers."""
