/** Opens a model's file: reads it, checks its ops, and makes a model of it. */
import { UnimplementedError, ValueError } from "../engine/core/errors.ts";
import type { FileSource } from "../library/io/source.ts";
import type { Rule } from "./build/rule.ts";
import { missingOps } from "./build/walk.ts";
import type { OnnxGraph } from "./file/graph.ts";
import { holdAll, type OnnxFile, readModelFor, type ReadOptions } from "./file/read_model.ts";
import { readWholeModel } from "./file/whole_model.ts";
import { OnnxModel } from "./model.ts";
import { lookupOp } from "./ops/table.ts";
import { makeVariables } from "./variables.ts";

export interface OpenOptions extends ReadOptions {
  /** Rules that replace those of the table, by op name. */
  readonly rules?: (graph: OnnxGraph) => ReadonlyMap<string, Rule>;
  /** Extents by their names in the file. */
  readonly dimensions?: Readonly<Record<string, number>>;
  /** False makes weights constants. Default true. */
  readonly trainable?: boolean;
  /** Name of the device of all its ops; absent for the current one. */
  readonly device?: string;
}

/** Opens a model. Rejects as `loadOnnx` does. */
export async function openModel(source: FileSource, options: OpenOptions): Promise<OnnxModel> {
  const { rules = () => new Map(), dimensions = {}, trainable = true, device, ...read } = options;
  for (const [name, extent] of Object.entries(dimensions)) {
    if (Number.isSafeInteger(extent) && extent >= 0) continue;
    throw new ValueError(
      `Cannot load a model: the dimension "${name}" is ${extent}, wanted a size`,
    );
  }
  return await readModelFor(source, read, async (file) => {
    const { graph } = file, name = source instanceof Uint8Array ? "the model" : file.name;
    const walk = { lookup: lookupOp, scripts: rules(graph), ...device !== undefined && { device } };
    refuseMissing(file, walk);
    const variables = trainable ? await makeVariables(graph, lookupOp) : {};
    await holdAll(graph);
    return new OnnxModel({
      name,
      graph,
      variables,
      dimensions,
      walk,
      reread: () => readWholeModel(source, read.externalData),
    });
  });
}

/** Throws an error that names all unsupported ops. */
function refuseMissing(file: OnnxFile, walk: Parameters<typeof missingOps>[1]): void {
  const missing = missingOps(file.graph, walk);
  if (missing.size === 0) return;
  const list = [...missing].map(([op, { nodes, refused }]) =>
    `${op} at ${nodes.slice(0, 3).map((n) => `"${n}"`).join(", ")}${
      nodes.length > 3 ? ` and ${nodes.length - 3} more` : ""
    }${refused === undefined ? "" : ` (${refused})`}`
  );
  const [first] = missing, [op, { nodes: [node] }] = first;
  throw new UnimplementedError(
    `Cannot run its ops: there is no ${
      list.join("; no ")
    }. Pass functions for them as scripts: { "${op}": fn }`,
    { op, node },
  );
}
