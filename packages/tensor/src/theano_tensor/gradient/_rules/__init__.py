"""How one node is differentiated.

`_node` finds the rule of an op and checks its result, `_supports` keeps choices of zero and placed parts outermost
in cotangents, `_methods` has the rules that are methods of a class,
`_types` the types of gradients without a value, `_arrays` the interface of variables, and `_errors` the exceptions.
"""
