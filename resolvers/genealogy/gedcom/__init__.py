"""GEDCOM 5.5.1 and 7.0: reads files into people and families and writes them back, without a database.

Bytes become lines (`lexer`), lines become records (`parser`), records become a tree (`reader`), and back (`writer`,
`serializer`). Other libraries do not fit: ged4py and python-gedcom stop at the first bad line and do not write, and
gedcom7 supports 7.0 only and reads whole files. The ANSEL tables come from the `ansel` library.
"""
