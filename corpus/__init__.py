"""The kernels: one folder each, plus the ledger of expected divergences."""
