"""A class in shares that are all in this process, and can be lost."""

import itertools

import numpy as np

from policysieve.evidence.share import ASKING, Missing, Share
from policysieve.policies.wrapping import WrappedPolicies


def never(_method, _count):
    """Nothing is lost."""
    return False


class HeldPolicies(WrappedPolicies):
    """The same policies in so many shares; `loses` says before which calls one is lost."""

    def __init__(self, policies, n_shares, loses=never):
        super().__init__(policies)
        cuts = [len(policies) * k // n_shares for k in range(n_shares + 1)]
        self.runs = tuple(itertools.pairwise(cuts))
        self.shares, self.loses = [Share() for _ in self.runs], loses
        self.asked, self.lost = [], 0

    @property
    def holders(self):
        return self

    def _evaluate(self, contexts, which):
        return self.policies._evaluate(contexts, which)

    def call(self, method, given, chain=None):
        if given:
            self.asked.append((method, len(given)))
        said = {share: self._of(share, method, args) for share, args in given.items()}
        last = None
        for share, args in {} if chain is None else chain[1].items():
            last = self._of(share, chain[0], args if last is None else (*args[:-1], last))
            if isinstance(last, Missing):
                return said, None
        return said, last

    def forget(self, keys):
        for share in self.shares:
            share.forget(keys)

    def _of(self, share, method, args):
        if self.loses(method, len(self.asked) + share):
            self.shares[share], self.lost = Share(), self.lost + 1
        first, last = self.runs[share]
        if method in ASKING:
            args = (self.policies.part(np.arange(first, last)), first, *args)
        return getattr(self.shares[share], method)(*args)
