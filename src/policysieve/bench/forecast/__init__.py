"""How good forecasts of the rounds to a proof are."""
