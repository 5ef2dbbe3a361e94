/** importGraphDef: adds a GraphDef in proto3 JSON form to the current graph. */
import { lookupOp } from "../../engine/core/op.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { RuntimeError } from "../../engine/core/errors.ts";
import { currentGraph } from "../../engine/graph/current_graph.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import { withJsonNames } from "../graph_def/json.ts";
import { Budget, checkGraphDef } from "../graph_def/check.ts";
import { raiseVersion1 } from "../graph_def/version_1.ts";
import { canImport } from "./op_table.ts";
import { checkInputMap, checkMissing } from "./missing.ts";
import { CALL, Library, Reader } from "./node_reader.ts";
import type { ImportOptions, InlineOptions } from "./import_options.ts";
import { adoptVariables } from "../../engine/runtime/variables/imported.ts";

export { canImport } from "./op_table.ts";
export type { ImportOptions, InlineOptions } from "./import_options.ts";

const checkOptions = optionCheck<ImportOptions>("importGraphDef", {
  prefix: true,
  inputMap: true,
  returnElements: true,
  scripts: true,
});

/**
 * Adds the nodes of a GraphDef to the current graph. Follows TensorFlow `tf.import_graph_def`. Throws `NotFoundError`
 * for unknown ops and unregistered scripts (naming all of them), `ValueError` for a broken GraphDef or unknown names in
 * `inputMap`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const a = new tf.Graph();
 * a.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), tf.scalar(1)));
 * const def = JSON.parse(JSON.stringify(a.toGraphDef()));
 * const b = new tf.Graph();
 * const [y] = b.asDefault(() => tf.importGraphDef(def, { prefix: "", returnElements: ["AddV2:0"] })) as tf.Tensor[];
 * console.log(await new tf.Session({ graph: b }).run(y, { feeds: { "x:0": 2 } })); // 3
 * ```
 */
export function importGraphDef(
  def: GraphDefJson,
  options: ImportOptions = {},
): (Tensor | Operation)[] {
  checkOptions(options);
  const made = importNodes(def, options);
  checkInputMap(def, Object.keys(options.inputMap ?? {}));
  return made;
}

/** Does the work of {@linkcode importGraphDef}, also for readers of files. */
export function importNodes(
  def: GraphDefJson,
  options: InlineOptions = {},
): (Tensor | Operation)[] {
  const reader = readNodes(def, options);
  const { returnElements = [] } = options;
  return returnElements.map((e) => (e.includes(":") ? reader.tensor(e) : reader.operation(e)));
}

/** Adds nodes as {@linkcode importNodes} does. The result finds the tensor `"x"` or `"x:1"`. */
export function importTensors(
  def: GraphDefJson,
  options: InlineOptions = {},
): (name: string) => SymbolicTensor {
  const reader = readNodes(def, options);
  return (name) => reader.tensor(name);
}

function readNodes(given: GraphDefJson, options: InlineOptions): Reader {
  const graph = currentGraph();
  if (!graph) {
    throw new RuntimeError(
      "Cannot import a GraphDef in eager mode: call importGraphDef() inside graph.asDefault(), before the first await",
    );
  }
  const def = raiseVersion1(checkGraphDef(withJsonNames(given)));
  const isKnown = (op: string): boolean =>
    canImport(op) || options.inlineCalls === true && CALL.test(op);
  checkMissing(def, { isKnown, scripts: options.scripts, isForeign: options.isForeign });
  const file = def.library ?? { function: [] }, functions = file.function;
  const nodes = [def.node, ...functions.map((f) => f.nodeDef)].flat();
  const inputs = nodes.reduce((n, { input }) => n + (input?.length ?? 0), 0);
  const library = new Library(file, options, new Budget(inputs));
  const { prefix = "import", inputMap = {} } = options;
  const build = (): Reader => {
    const reader = new Reader(graph, library, options);
    for (const [name, t] of Object.entries(inputMap)) {
      reader.replace(
        name.includes(":") ? name : `${name}:0`,
        graph.convertInput(t, lookupOp("Identity")!),
      );
    }
    const from = graph.version;
    reader.nodes(def.node);
    adoptVariables(graph, from);
    return reader;
  };
  return prefix === "" ? build() : graph.nameScope(prefix, build);
}
