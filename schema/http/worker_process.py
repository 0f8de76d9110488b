"""One of several server processes."""

from dataclasses import dataclass

from schema.http.shared_metrics import Board
from schema.http.supervisor import Post


@dataclass(frozen=True)
class WorkerProcess:
    """A worker, and the memory that it shares with the others."""

    post: Post
    board: Board

    @property
    def number(self) -> int:
        return self.post.number

    @property
    def runs_jobs(self) -> bool:
        """True for one of the workers: others would ask the table for the same jobs."""
        return self.number == 1
