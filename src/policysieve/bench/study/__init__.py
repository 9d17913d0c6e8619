"""How quick and how small a durable study is, next to Optuna on the same disk."""
