from __future__ import annotations

import ast
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import make_notebooks


class TestNotebooks(unittest.TestCase):
    def test_a_notebook_has_all_of_its_program(self) -> None:
        for name in make_notebooks.programs():
            source = (make_notebooks.EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
            # The docstring is the text above, and the call of the program has another form in a notebook.
            expected = [ast.dump(node) for node in ast.parse(source).body[1:-1]]
            tree = ast.parse("\n".join(make_notebooks.parts(source))).body
            self.assertEqual([ast.dump(node) for node in tree], expected, name)

    def test_each_definition_is_a_cell(self) -> None:
        source = '"""About."""\n\nimport os\n\nX = 1\n\n\n# First.\n@staticmethod\ndef f():\n    pass\n\n\nY = 2\n'
        source += '\n\nif __name__ == "__main__":\n    run(main, __doc__)\n'
        cells = ["import os\n\nX = 1", "# First.\n@staticmethod\ndef f():\n    pass", "Y = 2"]
        self.assertEqual(list(make_notebooks.parts(source)), cells)

    def test_files(self) -> None:
        with TemporaryDirectory() as folder:
            paths = make_notebooks.write(Path(folder), ["planets"])
            self.assertEqual([path.name for path in paths], ["planets.ipynb"])
            book = json.loads(paths[0].read_text(encoding="utf-8"))
            self.assertTrue((Path(folder) / "demo_tools.py").exists())
        self.assertEqual((book["nbformat"], book["cells"][0]["cell_type"]), (4, "markdown"))
        self.assertIn("main(quick=True", "".join(book["cells"][-1]["source"]))
        ids = [cell["id"] for cell in book["cells"]]
        self.assertEqual(len(set(ids)), len(ids))


if __name__ == "__main__":
    unittest.main()
