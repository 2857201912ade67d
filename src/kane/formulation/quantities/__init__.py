"""What is read off the equations: energies, momenta, poses, and the programs that compute them."""
