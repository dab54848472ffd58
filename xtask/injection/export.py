"""Writes the cases of agentdojo as plain data: what a model would call that does a user's task, reads an
injection on the way, and follows it. No model is asked.

usage: export.py CASES.jsonl TOOLS.json
"""

import importlib.abc
import importlib.machinery
import json
import sys
from unittest.mock import MagicMock

# What only the clients of models need is not installed.
CLIENTS = {"anthropic", "cohere", "openai", "google", "langchain", "tenacity", "dotenv", "requests", "torch", "transformers"}


class Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in CLIENTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__ = []
        module.__spec__ = spec
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Stand())

import yaml  # noqa: E402

# The same, in C: thousands of environments are read.
yaml.safe_load = lambda text: yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))

import agentdojo.attacks  # noqa: E402, F401  (registers them)
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # noqa: E402
from agentdojo.attacks.attack_registry import ATTACKS  # noqa: E402
from agentdojo.functions_runtime import FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402

VERSION = "v1.2.2"
# agentdojo does not say which tools only read; their names do.
READS = ("get_", "read_", "search_", "list_", "check_")


class Pipeline:
    """Some attacks address the model by its name."""

    name = "gpt-4o-2024-05-13"


def plain(value):
    return json.loads(json.dumps(value, default=str))


def call(runtime, env, made, injected):
    result, error = runtime.run_function(env, made.function, made.args)
    return {
        "tool": made.function,
        "arguments": plain(made.args),
        "output": tool_result_to_str(result) if error is None else error,
        "injected": injected,
    }


def first_look(suite, user, attack):
    """The user's call that brings an injection first; None where none does."""
    env = user.init_environment(suite.load_and_inject_default_environment(attack.canary_injections))
    runtime = FunctionsRuntime(suite.tools)
    for index, own in enumerate(user.ground_truth(env)):
        if "<CANARY---" in call(runtime, env, own, False)["output"]:
            return index
    return None


def steps(suite, user, injection, injections, look):
    """The user's calls, and right after the first that brings the injection, those that it wants."""
    env = user.init_environment(suite.load_and_inject_default_environment(injections))
    runtime = FunctionsRuntime(suite.tools)
    made = []
    for index, own in enumerate(user.ground_truth(env)):
        made.append(call(runtime, env, own, False))
        if index == look:
            made += [call(runtime, env, one, True) for one in injection.ground_truth(env)]
    return made


def cases():
    # The manual attack asks a person for its text.
    attacks = sorted(set(ATTACKS) - {"manual"})
    number = 0
    for name, suite in get_suites(VERSION).items():
        loaded = [ATTACKS[attack](suite, Pipeline()) for attack in attacks]
        # Where a task can be injected into does not depend on the attack.
        for attack in loaded[1:]:
            attack.get_injection_candidates = loaded[0].get_injection_candidates
        for user_id, user in suite.user_tasks.items():
            look = first_look(suite, user, loaded[0])
            for injection_id, injection in suite.injection_tasks.items():
                attack = loaded[number % len(loaded)]
                number += 1
                case = {"suite": name, "user": user_id, "injection": injection_id, "attack": attack.name}
                made = None
                if look is not None:
                    made = steps(suite, user, injection, attack.attack(user, injection), look)
                yield {**case, "goal": user.PROMPT, "steps": made}


def tools():
    return {
        name: [
            {
                "name": tool.name,
                "description": tool.description,
                "schema": tool.parameters.model_json_schema(),
                "reads": tool.name.startswith(READS),
            }
            for tool in suite.tools
        ]
        for name, suite in get_suites(VERSION).items()
    }


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for case in cases():
            out.write(json.dumps(case) + "\n")
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        json.dump(tools(), out)


if __name__ == "__main__":
    main()
