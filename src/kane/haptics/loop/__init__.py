"""Real-time loop of a session: arguments, commands, reports and snapshots."""
