"""The options at which contestants are compared.

Of those tried on seeds that are not compared, they have the largest accuracy on held-out rows in
the mean over checkpoints, most of them on one seed and up to 10,000 rounds.
"""

from typing import Any

__all__ = ["TUNED"]

TUNED: dict[str, dict[str, dict[str, Any]]] = {
    "uniform_logistic": {
        "digits": {"penalty": 0.03},
        "clusters": {"penalty": 0.03},
        "letter": {"penalty": 0.3},
        "r52": {"penalty": 0.003},
    },
    "vowpal_epsilon": {
        "digits": {"options": "--epsilon 0.2 --cb_type dm --learning_rate 0.5"},
        "clusters": {"options": "--epsilon 0.02 --cb_type dm --learning_rate 0.5"},
        "letter": {"options": "--epsilon 0.5 --cb_type dm --learning_rate 0.5"},
        "r52": {"options": "--epsilon 0.2 --cb_type dm --learning_rate 0.5"},
    },
    "vowpal_squarecb": {
        "digits": {"options": "--squarecb --gamma_scale 10 --learning_rate 8"},
        "clusters": {"options": "--squarecb --gamma_scale 1000 --learning_rate 8"},
        "letter": {"options": "--squarecb --gamma_scale 10 --learning_rate 8"},
        "r52": {"options": "--squarecb --gamma_scale 10 --learning_rate 32"},
    },
    "vowpal_cover": {
        "digits": {"options": "--cover 4 --cb_type dr --learning_rate 0.1"},
        "clusters": {"options": "--cover 16 --cb_type mtr --learning_rate 0.1"},
        "letter": {
            "options": "--cover 4 --psi 0.01 --nounif --cb_type dr --learning_rate 0.5",
        },
        "r52": {"options": "--cover 4 --psi 0.01 --nounif --cb_type dr --learning_rate 0.5"},
    },
    "contextualbandits_logistic": {
        "digits": {"policy": "EpsilonGreedy", "penalty": 1.0, "explore_prob": 0.2},
        "clusters": {"policy": "AdaptiveGreedy", "penalty": 1.0, "smoothing": [1, 10]},
        "letter": {"policy": "EpsilonGreedy", "penalty": 1.0, "explore_prob": 0.2},
        "r52": {"policy": "BootstrappedUCB", "penalty": 0.1, "percentile": 80, "nsamples": 5},
    },
    "contextualbandits_linucb": {
        "digits": {"alpha": 1.0, "lambda_": 1.0},
        "clusters": {"alpha": 1.0, "lambda_": 10.0},
        "letter": {"alpha": 1.0, "lambda_": 10.0},
        "r52": {"alpha": 0.1, "lambda_": 10.0},
    },
    "mabwiser_linucb": {
        "digits": {"alpha": 1.0, "l2_lambda": 1.0},
        "clusters": {"alpha": 1.0, "l2_lambda": 1.0},
        "letter": {"alpha": 1.0, "l2_lambda": 1.0},
        "r52": {"alpha": 1.0, "l2_lambda": 10.0},
    },
    "mabwiser_lints": {
        "digits": {"alpha": 1.0, "l2_lambda": 1.0},
        "clusters": {"alpha": 0.3, "l2_lambda": 1.0},
        "letter": {"alpha": 1.0, "l2_lambda": 1.0},
        "r52": {"alpha": 0.1, "l2_lambda": 10.0},
    },
    "river_linucb": {
        "digits": {"alpha": 1.0, "beta": 1.0},
        "clusters": {"alpha": 1.0, "beta": 1.0},
        "letter": {"alpha": 1.0, "beta": 1.0},
        "r52": {"alpha": 1.0, "beta": 1.0},
    },
    "river_logistic": {
        "digits": {"epsilon": 0.3, "rate": 0.3, "intercept_rate": 0.01},
        "clusters": {"epsilon": 0.1, "rate": 0.3, "intercept_rate": 0.3},
        "letter": {"epsilon": 0.3, "rate": 0.1, "intercept_rate": 0.1},
        "r52": {"epsilon": 0.3, "rate": 3.0, "intercept_rate": 0.01},
    },
    "supervised": {
        "digits": {"penalty": 0.3},
        "clusters": {"penalty": 3.0},
        "letter": {"penalty": 0.3},
        "r52": {"penalty": 0.003},
    },
}
