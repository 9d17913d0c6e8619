"""Texts become the same numbers whatever the machine does besides."""

import numpy as np
from threadpoolctl import threadpool_limits

from policysieve.bench.texts import reduced_rows, word_rows


def test_rows_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(3000)])
    texts = np.array([" ".join(rng.choice(words, 60)) for _ in range(1500)], dtype=object)
    rows = word_rows(texts, 1200)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(reduced_rows(rows, 1200, 100))
    np.testing.assert_array_equal(*found)
    assert found[0].shape == (1500, 100)


def test_the_training_rows_alone_say_how():
    few = ["red green", "green blue", "blue red", "red blue green"] * 40
    texts = np.array(
        [f"{words} word{i % 110} word{(i + 1) % 110}" for i, words in enumerate(few)], dtype=object
    )
    found = reduced_rows(word_rows(texts, 150), 150, 100)
    assert found.shape == (160, 100)
    texts[155:] = "purple"
    again = reduced_rows(word_rows(texts, 150), 150, 100)
    np.testing.assert_array_equal(again[:155], found[:155])
