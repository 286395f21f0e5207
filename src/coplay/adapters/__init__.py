"""Games of other packages that coplay's players play."""
