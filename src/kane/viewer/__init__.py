"""Looking at models, runs and steppers in a browser: a page, and the server behind it."""
