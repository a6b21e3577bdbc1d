"""What cannot be answered: a question that does not fit its network."""

from __future__ import annotations

from credo.data.error import DataError

__all__ = ["QuestionError"]


class QuestionError(DataError):
    """A question with unknown names, findings that contradict each other, or no answer."""
