/**
 * Models behind HTTP: the Open Inference Protocol v2 and TensorFlow Serving's REST interface as a web-standard handler.
 *
 * `deno run -A jsr:@weft/weft/serve MODEL_DIR` serves a folder; see `main.ts` for its flags.
 *
 * @module
 */
export type { BatchingOptions } from "./batcher.ts";
export { createHandler, type Handler, type HandlerOptions } from "./handler.ts";
export { answerFrom, workerHandler, type WorkerHandlerOptions } from "./worker_handler.ts";
export type { Versions } from "./model_entry.ts";
export type {
  GraphModelLike,
  NamedTensor,
  OnnxModelLike,
  SavedModelLike,
  ServableFunction,
  ServableModel,
  Specs,
} from "./servable.ts";
export type * from "../engine/types.ts";

// As a program, this module is the command.
if (import.meta.main) void import("./main.ts").then(({ runCommand }) => runCommand());
