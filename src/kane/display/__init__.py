"""What models look like, and the page that shows them: scenes, runs and equations for browsers."""
