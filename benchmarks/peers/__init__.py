"""The opponents. Each is optional: where one is not installed, its column says so and how to get it."""
