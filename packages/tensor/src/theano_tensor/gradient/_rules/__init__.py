"""How one node is differentiated.

`_node` finds the rule of an op and checks what it returns, `_supports` keeps choices of zero and placed parts outermost
in cotangents, `_methods` has the rules that are methods of a class,
`_types` the types of gradients without a value, `_arrays` what is asked of variables, and `_errors` what is raised.
"""
