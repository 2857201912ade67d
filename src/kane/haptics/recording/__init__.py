"""Recordings of sessions, as files, trajectories and pages."""
