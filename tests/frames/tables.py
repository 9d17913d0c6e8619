"""One table in every dress that contexts may come in."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

ROWS = [
    {"age": 31, "country": "DE", "spend": 1.5, "since": datetime.date(2024, 1, 1), "pro": True},
    {"age": None, "country": "FR", "spend": None, "since": None, "pro": False},
    {"age": 64, "country": None, "spend": 0.25, "since": datetime.date(2023, 5, 6), "pro": True},
    {"age": 18, "country": "DE", "spend": 9.0, "since": datetime.date(2020, 2, 29), "pro": False},
]
DRESSES = {
    "pandas": lambda rows: pd.DataFrame(rows, index=np.arange(len(rows)) + 7),
    "nullable pandas": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "arrow in pandas": lambda rows: pd.DataFrame(rows).convert_dtypes(dtype_backend="pyarrow"),
    "categories": lambda rows: pd.DataFrame(rows).astype({"country": "category"}),
    "polars": pl.DataFrame,
    "pyarrow": pa.Table.from_pylist,
    "dicts": list,
}
