"""What an analysis is: a question, the tables it needs and the function that answers it."""

from collections.abc import Callable
from dataclasses import dataclass

from diagtool.context import Context
from diagtool.diagnosis import Result
from diagtool.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Analysis:
    """One entry of ANALYSES. ``run`` may not change the timeline; ``needs`` names tables that must have rows."""

    name: str
    question: str
    needs: tuple[str, ...]
    run: Callable[[Timeline, Context], Result]
