/** The main module of a worker: receives calls, finds their bodies, sends the results. */
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { readable } from "../../core/thrown.ts";
import { checkArity, contextAs } from "../arity.ts";
import { madeArray } from "../made_array.ts";
import type { ScriptContext } from "../script.ts";
import { AbortFlag } from "./worker_signal.ts";
import { WORKER_SCOPE } from "./worker_scope.ts";
import {
  pack,
  packError,
  unpack,
  unpackError,
  type WorkerBody,
  type WorkerCall,
  type WorkerMessage,
  type WorkerReply,
} from "./worker_wire.ts";

type Body = (...args: unknown[]) => unknown;

/** The other end: a port if the first message is one, else the worker's global scope. */
interface Port {
  postMessage(message: WorkerReply, transfer: ArrayBuffer[]): void;
  onmessage: ((event: { data: WorkerMessage }) => void) | null;
}
interface NodePort {
  once(event: "message", handler: (port: Port) => void): void;
}

const { process } = globalThis as {
  process?: { getBuiltinModule?(name: string): { parentPort: NodePort | null } | undefined };
};
const parent = process?.getBuiltinModule?.("node:worker_threads")?.parentPort;
let port: Port;
let flag = new AbortFlag(null);

const bodies = new Map<string, Promise<Body>>();

function findBody(body: WorkerBody): Promise<Body> {
  const key = "source" in body ? body.source : `${body.name} ${body.module}`;
  let found = bodies.get(key);
  if (!found) {
    found = "source" in body ? evaluate(body.source) : imported(body.module, body.name);
    bodies.set(key, found);
    found.catch(() => bodies.delete(key));
  }
  return found;
}

async function imported(module: string, name: string): Promise<Body> {
  const exports = await import(module);
  if (typeof exports[name] !== "function") {
    throw new TypeError(`Cannot find a function "${name}" among the exports of ${module}`);
  }
  return exports[name];
}

/** Makes a function from its source text: an expression, or a method of an object literal. */
async function evaluate(source: string): Promise<Body> {
  const names = Object.keys(WORKER_SCOPE);
  const inScope = (text: string) => evaluateModule(`export default (${names}) => ${text}`);
  const made = await inScope(`(${source}\n);`).catch((e) => {
    // Deno reports a module's syntax error as a TypeError.
    if (!/SyntaxError/.test(String(e))) throw e;
    return inScope(`{ const o = {${source}\n}; return o[Object.keys(o)[0]]; }`);
  });
  return made(...Object.values(WORKER_SCOPE)) as Body;
}

async function evaluateModule(text: string): Promise<Body> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return (await import(url)).default;
  } catch (e) {
    // Node imports no blobs. Elsewhere they are better: their names in a stack are short.
    if ((e as { code?: string }).code !== "ERR_UNSUPPORTED_ESM_URL_SCHEME") throw e;
    const named = `${text}\n//# sourceURL=body.js`;
    return (await import(`data:text/javascript,${encodeURIComponent(named)}`)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** The last argument of a body. The signal is made on demand. */
class WorkerContext implements ScriptContext {
  readonly node: string;
  readonly run: number;
  readonly seed: bigint;
  readonly #call: WorkerCall;
  readonly #body: Body;

  constructor(call: WorkerCall, body: Body) {
    ({ node: this.node, run: this.run, seed: this.seed } = call);
    this.#call = call;
    this.#body = body;
  }

  [Symbol.toPrimitive](hint: string): string {
    return contextAs(hint, this.#body, this.#call.args.length);
  }

  get signal(): AbortSignal {
    return flag.signalOf(this.#call.id, () => port.postMessage({ listens: true }, []));
  }

  array(
    ...[shape, data, own]: Parameters<ScriptContext["array"]>
  ): ReturnType<ScriptContext["array"]> {
    return madeArray(shape, data, own ?? this.#call.dtype);
  }
}

async function answer(call: WorkerCall): Promise<void> {
  let reply: WorkerReply;
  const transfer: ArrayBuffer[] = [];
  try {
    const func = await findBody(call.body);
    checkArity(func, call.args.length);
    const context = new WorkerContext(call, func);
    const result = await func(...unpack(call.args) as unknown[], context);
    reply = { result: pack(result, transfer) };
  } catch (e) {
    reply = { error: packError("source" in call.body ? explained(e) : e) };
  }
  for (const list of [transfer, []]) {
    try {
      return port.postMessage(reply, list);
    } catch (e) {
      // Memory that cannot be transferred, such as WebAssembly's, is copied. A result that cannot be sent is an error.
      if (list !== transfer) port.postMessage({ error: packError(e) }, []);
    }
  }
}

/** Explains why a name is missing. */
function explained(thrown: unknown): unknown {
  const error = readable(thrown);
  if (error instanceof ReferenceError && /not defined|find variable/.test(error.message)) {
    error.message += ": a body that is sent by its source has nothing of the scope around it";
  }
  return error;
}

function listen(to: Port): void {
  port = to;
  port.onmessage = ({ data }) => {
    if ("call" in data) void answer(data.call);
    else if ("abort" in data) flag.abort(unpackError(data.abort));
    else flag = new AbortFlag(data.aborted);
  };
}

if (parent) parent.once("message", listen);
else {
  const scope = globalThis as unknown as Port & { close(): void };
  listen(scope);
  // The end of a Web Worker that ends itself is not reported.
  const { close } = scope;
  scope.close = () => {
    const error = new Error("The worker closed itself before the body returned");
    scope.postMessage({ ended: packError(error) }, []);
    close.call(scope);
  };
}
