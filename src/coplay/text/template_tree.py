"""Chat templates as trees: what stands in them, and the filters that are put into them so that every step is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coplay.text.template_meter import TooMuch

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

STEP, WEIGHED, COUNTED = "a step", "weighed", "its items counted"
"""Filters of ours, which the environment has."""


def literals(tree: nodes.Node) -> list[str]:
    """The texts that stand in a part of a template."""
    from jinja2 import nodes

    inside = [tree, *tree.find_all((nodes.TemplateData, nodes.Const))]
    fixed = [one.data for one in inside if isinstance(one, nodes.TemplateData)]
    return fixed + [one.value for one in inside if isinstance(one, nodes.Const) and isinstance(one.value, str)]


def compute_constants(environment: ImmutableSandboxedEnvironment, tree: nodes.Template) -> None:
    """Compute with a meter what stands in a template without names, wherever it stands.

    Jinja computes it while it compiles a template, even in a branch that is never taken, and transformers compiles templates without a meter.

    Raises:
        TooMuch: if that would take long or much memory.
    """
    from jinja2 import nodes

    named = (nodes.Name, nodes.NSRef, nodes.Call)
    for node in list(tree.find_all(nodes.Expr)):
        if isinstance(node, nodes.Literal) or any(True for _ in node.find_all(named)) or isinstance(node, named):
            continue
        alone = nodes.Template([nodes.ExprStmt(node, lineno=1)], lineno=1)
        alone = metered(alone)
        alone.set_environment(environment)
        try:
            code = environment.compile(alone)
            environment.template_class.from_code(environment, code, environment.make_globals(None)).render()
        except (TooMuch, MemoryError, OverflowError, RecursionError):
            raise
        except Exception:  # nor can jinja compute it, and it is left to be computed where it stands
            continue


def metered(tree: nodes.Template) -> nodes.Template:
    """The same template: each pass of a loop and each call of a macro is a step, and what operators without a hook take is weighed."""
    from jinja2 import nodes
    from jinja2.visitor import NodeTransformer

    def through(name: str, value: nodes.Node) -> nodes.Expr:
        assert isinstance(value, nodes.Expr)
        if isinstance(value, nodes.Const | nodes.TemplateData):
            return value
        return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)

    def step(body: Sequence[nodes.Node]) -> nodes.ExprStmt:
        """Costs what the body writes and names as it stands."""
        units = nodes.Const(1 + sum(len(text) for part in body for text in literals(part)) // 64)
        return nodes.ExprStmt(nodes.Filter(units, STEP, [], [], None, None, lineno=1), lineno=1)

    class Transformer(NodeTransformer):
        """Changes the tree in place."""

        def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - jinja2's name
            node.body.insert(0, step(node.body))
            self.generic_visit(node)
            node.iter = through(COUNTED, node.iter)
            return node

        def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
            node.body.insert(0, step(node.body))
            return self.generic_visit(node)

        visit_CallBlock = visit_Block = visit_Macro

        def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
            self.generic_visit(node)
            node.nodes = [through(WEIGHED, part) for part in node.nodes]
            return node

        def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
            self.generic_visit(node)
            sides = [node.expr, *(other.expr for other in node.ops)]
            looked_through = any(other.op in ("in", "notin") for other in node.ops)
            if looked_through or sum(not isinstance(side, nodes.Const) for side in sides) > 1:
                node.expr = through(WEIGHED, node.expr)
                for other in node.ops:
                    other.expr = through(WEIGHED, other.expr)
            return node

        def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
            self.generic_visit(node)
            return through(COUNTED, node)

        def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
            self.generic_visit(node)
            for pair in node.items:
                pair.key = through(WEIGHED, pair.key)  # it is hashed
            return through(COUNTED, node)

        def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
            self.generic_visit(node)
            return through(COUNTED, node) if node.ctx == "load" else node

        def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
            self.generic_visit(node)
            return through(COUNTED, node) if isinstance(node.arg, nodes.Slice) else node

    Transformer().visit(tree)
    return tree
