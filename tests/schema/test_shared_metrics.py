"""Metrics of several processes as one text."""

from schema.http.shared_metrics import Board

FIRST = """\
# HELP requests Answered requests.
# TYPE requests counter
requests{route="/"} 3
# HELP memory Memory.
# TYPE memory gauge
memory 5
"""
SECOND = FIRST.replace(" 3", " 4").replace('route="/"', 'route="/x",status="200"')


def test_the_lines_of_a_metric_stay_together_and_name_their_process() -> None:
    board = Board(2)
    board.write(1, FIRST)
    board.write(2, SECOND)

    assert (
        board.text()
        == """\
# HELP requests Answered requests.
# TYPE requests counter
requests{route="/",worker="1"} 3
requests{route="/x",status="200",worker="2"} 4
# HELP memory Memory.
# TYPE memory gauge
memory{worker="1"} 5
memory{worker="2"} 5
"""
    )


def test_a_text_replaces_the_last_one() -> None:
    board = Board(1)
    board.write(1, SECOND)
    board.write(1, FIRST)

    assert 'requests{route="/",worker="1"} 3' in board.text()
    assert "status" not in board.text()
