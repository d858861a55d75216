"""Programs compiled in several ways, and what comes out compared.

`_batch` compiles many programs as one function, `_modes` says with what, `_judge` when two values count as the same,
`_perturb` how far roundings may move them, and `_slopes` compares gradients. What differs is made small (`_shrink`)
and printed as source (`_printing`).
"""
