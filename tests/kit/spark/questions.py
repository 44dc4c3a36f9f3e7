"""The questions that `QUESTIONS.md` asks, and their answers from tables."""

import re

import duckdb

QUESTION = re.compile(r"```sql\n(?P<sql>.*?)```\n(?P<answer>(?:\n(?:\|[^\n]*\n)+)?)", re.DOTALL)


def answered(page, tables):
    """The page with the answers that tables give: datasets or Arrow tables by their names."""
    with duckdb.connect() as database:
        database.execute("set TimeZone = 'UTC'")
        for name, rows in tables.items():
            database.register(name, rows)

        def fill(found):
            return f"```sql\n{found['sql']}```\n\n{markdown(database.sql(found['sql']))}"

        return QUESTION.sub(fill, page)


def markdown(found):
    """Rows as a table of Markdown."""
    lines = [found.columns, ["---"] * len(found.columns), *found.fetchall()]
    return "".join(f"| {' | '.join(map(shown, line))} |\n" for line in lines)


def shown(value):
    """A cell; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
