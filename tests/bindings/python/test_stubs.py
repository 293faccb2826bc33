"""The type stubs name what the package has."""

import ast
from pathlib import Path

import lapwing


def test_names(rt):
    stub = ast.parse(Path(lapwing.__file__).with_name("__init__.pyi").read_text())
    named = {one.name: one for one in stub.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    assert set(lapwing.__all__) - {"mpi"} <= set(named)
    members = {name: {one.name if isinstance(one, ast.FunctionDef) else one.target.id for one in body.body if not isinstance(one, ast.Expr)}
               for name, body in named.items() if isinstance(body, ast.ClassDef)}  # fmt: skip

    def of(name):
        return members[name].union(*(of(base.id) for base in named[name].bases if getattr(base, "id", None) in members))

    for name in lapwing.__all__:
        one = getattr(lapwing, name)
        if isinstance(one, type) and not issubclass(one, Exception):
            there = {member for member in dir(one) if not member.startswith("_")}
            assert there <= of(name), (name, there - of(name))
