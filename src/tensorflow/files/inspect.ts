/** Description of a model's file: signatures, ops, sizes, and the ops that are missing to run it. */
// Without this import its ops would count as missing.
import "../../../mod.ts";
import { shapeText } from "../../engine/core/shape.ts";
import { readArtifacts } from "../../tfjs/graph_model/artifacts.ts";
import { withWeights } from "../../tfjs/graph_model/topology.ts";
import { decodeWeights } from "../../tfjs/graph_model/weights.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { shapeFromJson, text } from "../graph_def/values.ts";
import { raiseVersion1 } from "../graph_def/version_1.ts";
import { missingOps } from "../graph/missing.ts";
import { canImport } from "../graph/import_graph_def.ts";
import "./checkpoint_ops.ts";
import "./table_file_ops.ts";
import { graphDefOf } from "./from_message.ts";
import { readGraphDef } from "./graph_def.ts";
import { loadedObject } from "./loaded_object.ts";
import { inputsOf, outputsOf, readMetaGraph } from "./meta_graph.ts";
import type { MetaGraphDef } from "../proto/saved_model_pb.ts";

/** A model's file as this command shows it. */
export interface ModelFile {
  readonly kind: "GraphModel" | "SavedModel" | "GraphDef";
  /** Its graph, with weights where they are constants. */
  readonly def: GraphDefJson;
  /** Lines that describe its signatures. */
  readonly signatures: readonly string[];
}

/** Reads a model: a `model.json`, a SavedModel's folder, or a GraphDef. */
export async function readModel(path: string): Promise<ModelFile> {
  if (path.endsWith(".json")) {
    const { topology, specs, pieces, signature } = await readArtifacts(path, {});
    const list = (side: "inputs" | "outputs") => Object.values(signature[side] ?? {});
    return {
      kind: "GraphModel",
      def: withWeights(topology, decodeWeights(pieces, specs)),
      signatures: (["inputs", "outputs"] as const).flatMap((side) =>
        list(side).map((t) => `${side.slice(0, -1)} ${t.name}`)
      ),
    };
  }
  if (/\.(pb|pbtxt)$/.test(path) && !path.endsWith("saved_model.pb")) {
    const def = await readGraphDef(path);
    return { kind: "GraphDef", def, signatures: placeholders(def) };
  }
  const folder = path.replace(/\/?(saved_model\.pb)?$/, "");
  const meta = await readMetaGraph(folder, ["serve"]);
  const signatures = Object.entries(meta.signatureDef).filter(([name]) => !name.startsWith("__"))
    .flatMap(([name, s]) => [
      `signature ${name}`,
      ...inputsOf(s).map((t) => `  input ${t.key}: ${t.dtype}${shapeText(t.shape)}`),
      ...outputsOf(s).map((t) => `  output ${t.key}: ${t.dtype}${shapeText(t.shape)}`),
    ]);
  const def = meta.graphDef === undefined ? { node: [] } : graphDefOf(meta.graphDef);
  return {
    kind: "SavedModel",
    def: def as GraphDefJson,
    signatures: [...signatures, ...methodsOf(meta)],
  };
}

/** Describes the arguments of the saved object's functions. */
function methodsOf({ objectGraphDef: graph }: MetaGraphDef): string[] {
  if (graph === undefined) return [];
  const { methods } = loadedObject({
    graph,
    variable: () => undefined,
    naming: (work) => work(),
    call: () => [],
  });
  return Object.entries(methods).flatMap(([name, { traces }]) =>
    traces.map((trace) => `method ${name}${trace}`)
  );
}

function placeholders({ node }: GraphDefJson): string[] {
  return node.filter((n) => n.op === "Placeholder").map((n) =>
    `input ${n.name}: ${shapeText(shapeFromJson(n.attr?.shape?.shape ?? { unknownRank: true }))}`
  );
}

function allNodes(def: GraphDefJson): readonly NodeDefJson[] {
  return [...def.node, ...(def.library?.function ?? []).flatMap((f) => f.nodeDef ?? [])];
}

/** Describes a model in lines. */
export function describeModel({ kind, def, signatures }: ModelFile): string[] {
  const nodes = allNodes(def);
  const counts = new Map<string, number>();
  let bytes = 0;
  for (const { op, attr } of nodes) {
    counts.set(op, (counts.get(op) ?? 0) + 1);
    const content = attr?.value?.tensor?.tensorContent;
    if (content instanceof Uint8Array) bytes += content.length;
  }
  const ops = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  const missing = missingOps(raiseVersion1(def), canImport);
  const scripts = nodes.filter((n) => /^(PyFunc|PyFuncStateless|EagerPyFunc)$/.test(n.op))
    .map((n) =>
      `script ${n.attr?.token?.s === undefined ? "?" : text(n.attr.token.s)} at ${n.name}`
    );
  return [
    `${kind}, ${nodes.length} nodes, ${counts.size} ops, constants of ${bytes} bytes`,
    ...signatures,
    ...ops.map(([op, n]) => `${String(n).padStart(6)} ${op}`),
    ...scripts,
    ...[...missing].map(([op, places]) => `missing ${op} at ${places.join(", ")}`),
    missing.size === 0 ? "nothing is missing" : `${missing.size} ops are missing`,
  ];
}
