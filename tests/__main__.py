"""Run a tool of the test kit: `python tests TOOL [ARGUMENT...]`; without a tool, list them.

Started in this way, Python has this folder on its path, so that `kit` is found.
"""

import runpy
import sys

TOOLS = {
    "benchmarks":                "how fast, in how much memory, against whom",
    "benchmarks.faults":         "what faults cost where none acts",
    "benchmarks.following":      "what it costs to follow messages through a broker",
    "benchmarks.keeping":        "what it costs to keep the state of a replay between batches",
    "benchmarks.planning":       "what the driver of the pipeline does for millions of files",
    "benchmarks.proxy":          "what a proxy costs",
    "benchmarks.screen":         "how quick the screen is on a large capture",
    "benchmarks.spark_pipeline": "how fast the Spark pipeline is",
    "benchmarks.wireshark":      "which violations we notice, and which Wireshark does",
    "layers":                    "draw the layers of the page about the package again",
    "model.diagrams":            "draw the state diagrams of the page about the model again",
    "relations":                 "change real captures and see that nobody is accused for it",
    "sharpness":                 "make one frame of real captures illegal and see who is accused",
}  # fmt: skip


def main() -> None:
    """Run the tool that the first argument names."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TOOLS:
        width = max(map(len, TOOLS))
        table = "\n".join(f"  {tool:{width}}  {what}" for tool, what in TOOLS.items())
        sys.exit(f"usage: python tests TOOL [ARGUMENT...]\n\n{table}")
    sys.argv = [f"tests {name}", *sys.argv[2:]]
    runpy.run_module(f"kit.{name}", run_name="__main__")


if __name__ == "__main__":
    main()
