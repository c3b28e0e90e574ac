"""What people do with units: review turns, link chains, tag, rate, take the test. One module a task."""
