"""Runs one statement outside of a transaction: `postgres.py URL STATEMENT`."""

import sys
from urllib.parse import unquote, urlsplit

import pg8000.dbapi

url = urlsplit(sys.argv[1])
password = unquote(url.password) if url.password else None
connection = pg8000.dbapi.connect(
    user=unquote(url.username or ""), password=password, host=url.hostname, port=url.port or 5432,
    database=url.path.lstrip("/"), timeout=30,
)
connection.autocommit = True
connection.cursor().execute(sys.argv[2])
connection.close()
