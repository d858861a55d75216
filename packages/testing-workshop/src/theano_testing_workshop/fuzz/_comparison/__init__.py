"""Programs compiled in several ways, and their results compared.

`_batch` compiles many programs as one function, `_modes` names the modes, `_judge` when two values count as the same,
`_perturb` how far roundings may move them, and `_slopes` compares gradients. A difference is made small (`_shrink`)
and printed as source (`_printing`).
"""
