/** Passes where a bundler left out the op that they would make. */
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { buildIr } from "../../src/engine/graph/ir.ts";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import { addedNode } from "../../src/engine/graph/passes/added.ts";
import { any, applyRules, op, type Rule } from "../../src/engine/graph/passes/patterns.ts";

Deno.test("applyRules() leaves matches of a rule whose op is not loaded, and takes the next rule", () => {
  const y = new tf.Graph().asDefault(() => tf.exp(tf.placeholder("float32", [2])));
  const ir = buildIr({ fetches: [y as unknown as SymbolicTensor], targets: [], feeds: [] });
  const rule = (makes: string): Rule => ({
    makes,
    pattern: op("Exp", [any("x", () => true)]),
    replace: (match, root) => addedNode(root, makes, [match.get("x")], { T: "float32" }),
  });
  const names = (...made: readonly string[]): string[] =>
    applyRules(ir, made.map(rule)).nodes.map((node) => node.def.name);
  assertEquals(names("_NoSuchOp"), ["Placeholder", "Exp"]);
  assertEquals(names("_NoSuchOp", "Tanh"), ["Placeholder", "Tanh"]);
});
