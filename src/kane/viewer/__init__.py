"""Views of models, runs, steppers and sessions in a browser: the page and its server."""
