"""Reductions along one dimension of an array, into another array."""

from ._library import check, choice, lib
from ._runtime import Shared
from ._slice import OPERATIONS, as_slice
from ._types import integers


def along(function, array, axis, out):
    """Calls one of lapwing_array_sum_along() and its like."""
    with array.runtime._for_all():
        target, dimension = as_slice(out), _dimension(array, axis)
    check(function(array._handle, dimension, target._handle))


def _dimension(array, axis):
    (axis,) = integers((axis,), "the axis")
    return axis + array.ndim if axis < 0 else axis


class Reduction(Shared):
    """The reduction of an array along one dimension, made by a.reduction(), which execute() carries out as often as needed. It is valid until one of
    the arrays is closed, resized or redistributed. Collective.

    >>> import lapwing
    >>> a, totals = lapwing.ones((4, 6)), lapwing.zeros(4)
    >>> with a.reduction(1, totals) as reduction:
    ...     reduction.execute()
    >>> totals[...].tolist()
    [6.0, 6.0, 6.0, 6.0]
    """

    def __init__(self, array, axis, out, operation="add"):
        with array.runtime._for_new():
            self._kept = array, as_slice(out)
            numbers = _dimension(array, axis), choice(OPERATIONS, operation, "Array.reduction: the operation")
        self._open(array.runtime, "reduction", lib.lapwing_reduction_create, array._handle, numbers[0], self._kept[1]._handle, numbers[1])

    def execute(self):
        """The target gets the results for what the elements are now. Collective."""
        check(lib.lapwing_reduction_execute(self._handle))
