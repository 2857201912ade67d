"""Steps of trajectories, alone and in lanes."""
