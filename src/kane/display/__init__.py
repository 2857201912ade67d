"""Visual forms of models, and the page that shows them: scenes, runs and equations for browsers."""
