"""The tlx-equiv engine: one module per step of the flow model -> store -> ... -> judge."""
