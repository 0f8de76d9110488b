"""Generated functions: tracebacks and cleanup."""

import gc
import linecache
import traceback

import pytest

from datastore.model.codec import DecoderSource
from datastore.model.generated_code import define


def generated_files() -> list[str]:
    return [name for name in linecache.cache if name.startswith("<generated")]


def test_a_traceback_shows_the_generated_line():
    divide = define("divide", "def divide(a, b):\n    return a / b\n", {}, purpose="divide")

    with pytest.raises(ZeroDivisionError) as raised:
        divide(1, 0)

    *_, frame = traceback.extract_tb(raised.tb)
    assert (frame.name, frame.lineno, frame.line) == ("divide", 2, "return a / b")
    assert frame.filename.startswith("<generated ")
    assert frame.filename.endswith(": divide>")


def test_the_traceback_of_a_decoder_shows_the_field_that_is_missing():
    class Note:
        pass

    source = DecoderSource(Note)
    source.field("body", str, None, required=True)
    decode = source.compile()

    with pytest.raises(KeyError) as raised:
        decode({})

    *_, frame = traceback.extract_tb(raised.tb)
    assert frame.line == "'body': i['body']['S'],"
    assert frame.filename.endswith(": decode Note>")


def test_the_first_call_compiles_the_function_that_callers_hold():
    asked = []

    def source():
        asked.append("source")
        return "def add(a, *, b=2): return a + b + c"

    add = define("add", source, {"c": 10}, purpose="add")
    assert asked == []

    assert (add(1), add(1, b=5), asked) == (13, 16, ["source"])
    assert add.__code__.co_varnames == ("a", "b")


def test_the_source_goes_with_the_function():
    gc.collect()
    before = generated_files()
    answer = define("answer", "def answer(): return 42", {}, purpose="answer")
    assert (answer(), len(generated_files())) == (42, len(before) + 1)
    del answer

    gc.collect()

    assert generated_files() == before
