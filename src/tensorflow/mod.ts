/**
 * TensorFlow's files: graphs, SavedModels and checkpoints, read and written.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { encodeGraphDef, readGraphDef } from "@weft/weft/tf";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.square(tf.placeholder("float32", [], "x")));
 * const def = await readGraphDef(encodeGraphDef(g.toGraphDef()));
 * console.log(def.node.map((n) => n.op)); // ["Placeholder", "Square"]
 * ```
 *
 * @module
 */
// Files may have any op.
import "../../mod.ts";

export { encodeGraphDef, readGraphDef } from "./files/graph_def.ts";
export {
  type Checkpoint,
  type CheckpointSpec,
  readCheckpoint,
  writeCheckpoint,
} from "./files/checkpoint.ts";
export { createFileWriter, EventFileWriter, type FileWriterOptions } from "./files/event_writer.ts";
export type { FileSource } from "../library/io/source.ts";
export type { LoadedMethod, LoadedObject } from "./files/loaded_object.ts";
export { type LoadedModel, type LoadOptions, loadSavedModel } from "./files/saved_model.ts";
export type { Signature } from "./files/signature.ts";
export { saveModel, type SaveOptions, type SignatureFunction } from "./files/save_model.ts";
export type { ScriptFunctions } from "./graph/scripts.ts";
export type { Signature as OpSignature } from "../engine/types.ts";
export type * from "../engine/types.ts";

// Run as a program it is the command.
if (import.meta.main) void import("./main.ts").then(({ runCommand }) => runCommand());
