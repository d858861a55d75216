"""Advanced indexing: parts by arrays, changes of such parts, and their derivatives and shapes."""
