"""The type stubs name what the package has, with the same arguments."""

import ast
import inspect
from pathlib import Path

import numpy as np

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
            inherited = dir(np.ndarray) if issubclass(one, np.ndarray) else ()
            there = {member for member in dir(one) if not member.startswith("_") and member not in inherited}
            assert there <= of(name), (name, there - of(name))


def test_fixed_attributes(rt):
    """What cannot be set is a property without a setter."""
    stub = ast.parse(Path(lapwing.__file__).with_name("__init__.pyi").read_text())
    members = {node.name: node.body for node in stub.body if isinstance(node, ast.ClassDef)}
    fixed = 0
    for name in sorted(set(lapwing.__all__) & set(members)):
        for remedy in vars(getattr(lapwing, name)).get("_remedies", ()):
            owners = [base.__name__ for base in getattr(lapwing, name).__mro__ if base.__name__ in members]
            found = [one for owner in owners for one in members[owner] if remedy in (getattr(one, "name", None), getattr(getattr(one, "target", None), "id", None))]
            assert found and all([ast.unparse(each) for each in getattr(one, "decorator_list", [])] == ["property"] for one in found), (name, remedy)
            fixed += 1
    assert fixed > 15


def arguments_of(node):
    given = node.args
    stars = [f"*{one.arg}" for one in (given.vararg,) if one] + [f"**{one.arg}" for one in (given.kwarg,) if one]
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)] + stars


def test_arguments(rt):
    stub = ast.parse(Path(lapwing.__file__).with_name("__init__.pyi").read_text())
    compared = 0
    for node in stub.body:
        members = [(None, node)] if isinstance(node, ast.FunctionDef) else [(node, one) for one in getattr(node, "body", []) if isinstance(one, ast.FunctionDef)]
        for owner, one in members:
            holder = lapwing if owner is None else getattr(lapwing, owner.name, None)
            there = inspect.getattr_static(holder, one.name, None) if holder is not None else None
            there = getattr(there, "__func__", there)  # of classmethod and staticmethod
            if not inspect.isfunction(there):
                continue
            stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
            found = [stars.get(each.kind, "") + name for name, each in inspect.signature(there).parameters.items()]
            assert sorted(found) == sorted(arguments_of(one)), (owner and owner.name, one.name)
            compared += 1
    assert compared > 150
