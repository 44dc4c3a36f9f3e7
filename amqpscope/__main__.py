"""Run the command line with `python -m amqpscope`."""

from amqpscope.cli import main

if __name__ == "__main__":
    main()
