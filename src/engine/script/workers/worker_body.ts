/** `worker`: finds the code of a body for a worker, and checks that it can run there. */
import { ValueError } from "../../core/errors.ts";
import { optionCheck } from "../../core/arguments.ts";
import { outerNames } from "./outer_names.ts";
import { isInWorker } from "./worker_scope.ts";
import type { WorkerBody } from "./worker_wire.ts";

/** An export of a module, by its absolute URL; `export` is `default` unless given. */
export interface WorkerModule {
  /** Address of the module: `new URL("./body.ts", import.meta.url)`. */
  readonly module: string | URL;
  /** The name of the function among its exports. Default `default`. */
  readonly export?: string;
}

/** The body in a worker: its own source, or an export of a module, which may import. */
export type WorkerOption = boolean | WorkerModule;

const checkOptions = optionCheck<WorkerModule>("worker", { module: true, export: true });
const sources = new WeakMap<object, WorkerBody>();

/** Returns the worker's body for `func`. Throws `ValueError` if it cannot be sent, or would lack outer names. */
export function workerBody(func: object, option: true | WorkerModule): WorkerBody {
  if (typeof option === "object") {
    checkOptions(option);
    const module = String(option.module);
    if (!URL.canParse(module)) {
      throw new ValueError(
        `Cannot run a body in a worker: module must be an absolute URL, as new URL() makes one of "./body.ts" and import.meta.url, received ${module}`,
      );
    }
    return { module, name: option.export ?? "default" };
  }
  let body = sources.get(func);
  if (body === undefined) {
    const source = Function.prototype.toString.call(func);
    checkSource(source, (func as { name?: string }).name || "the body");
    sources.set(func, body = { source });
  }
  return body;
}

function checkSource(source: string, name: string): void {
  if (/\{\s*\[native code\]\s*\}\s*$/.test(source)) {
    throw new ValueError(
      "Cannot run a body in a worker: the source of a bound or built-in function cannot be had, pass worker: { module, export }",
    );
  }
  const lacking = outerNames(source, new Set(["tf"])).filter((n) => !isInWorker(n));
  if (lacking.length === 0) return;
  const ofTf = lacking.some((n) => n.startsWith("tf."))
    ? " (of tf it finds NdArray and errors)"
    : "";
  throw new ValueError(
    `Cannot run a body in a worker: ${name} uses ${
      lacking.join(", ")
    } of the scope around it, which its source does not bring along${ofTf}: pass values among inp, or the function by worker: { module, export }`,
  );
}
