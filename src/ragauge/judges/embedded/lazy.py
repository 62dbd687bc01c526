"""Attributes that are computed when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 (a decorator)
    """`functools.cached_property` without its lock, which in Python 3.11 all instances of a class share.

    The value is kept in the instance, where every later look finds it without coming here. Two threads that look at
    the same time may both compute it: what it decorates must give the same value each time.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        value: T = self._compute(instance)
        object.__setattr__(instance, self._name, value)  # also in a frozen dataclass
        return value
