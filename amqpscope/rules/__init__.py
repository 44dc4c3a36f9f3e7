"""The rules of all families: one function each, described in one place and found by kinds of event.

`registry` says what a rule is and runs it; each family has a package of its own, with the `rule`
decorator and the reporter that its rules use. `all` loads every rule, `catalogue` knows also those
that cannot be checked, `documents` reads what is written about each.
"""
