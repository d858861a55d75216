"""Who may overwrite memory, and until when; docs/design/overwriting.md tells the whole story.

Decisions about a graph before it is lowered:

- :mod:`._arguments` copies arguments for the machine in Python, as c/machine/donation.c does for the one in C;
- :mod:`._graph` orders and copies for ops that say they overwrite an input;
- :mod:`._results` keeps results from sharing memory with values of others;
- :mod:`._kinds` knows which kinds of operations a mode lets overwrite.

Decisions about a program:

- :mod:`._release` says where each register dies;
- :mod:`._lifetimes` says which registers may share memory, and who reads it last;
- :mod:`._decide` says which results may lie in the memory of which operands, and which writes wait for the end of a
  call;
- :mod:`._shown` writes that into the graph.

In a call, `buffers.c`, `donation.c` and `commit.c` in c/machine check who else sees the memory, then take other.
"""
