"""Safe Equilibrium Policy Optimization as recipes: the warm start by demonstrations."""
