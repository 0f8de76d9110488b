"""GEDCOM 5.5.1 and 7.0: files read to people and families and written from them, without a database.

A stream of bytes becomes lines (`lines`), lines become records (`reading`), records become a tree (`trees`), and back
(`writing`). Of the libraries there are, ged4py and python-gedcom stop at the first bad line and do not write, and
gedcom7 knows 7.0 only and reads a file as a whole; the ANSEL tables are those of the `ansel` library.
"""
