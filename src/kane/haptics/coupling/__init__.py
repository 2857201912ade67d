"""Virtual coupler between device and mechanism, and the steps of a coupled mechanism."""
