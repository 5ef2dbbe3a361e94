/**
 * What runs inside a worker: receives calls, finds their bodies, answers.
 */
import { madeArray } from "./made_array.ts";
import type { ScriptContext } from "./script.ts";
import {
  pack,
  packError,
  unpack,
  type WorkerBody,
  type WorkerCall,
  type WorkerReply,
} from "./worker_wire.ts";

type Body = (...args: unknown[]) => unknown;

/** The other end: a Node-style port where there is one, else the worker's global scope. */
interface Port {
  postMessage(message: WorkerReply): void;
  on?(event: "message", handler: (data: WorkerCall) => void): void;
  onmessage?: (event: { data: WorkerCall }) => void;
}

const { process } = globalThis as {
  process?: { getBuiltinModule?(name: string): { parentPort: Port | null } | undefined };
};
const port = process?.getBuiltinModule?.("node:worker_threads")?.parentPort ??
  globalThis as unknown as Port;

const bodies = new Map<string, Promise<Body>>();
const never = new AbortController().signal;

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

/** A function from its source text: an expression, or a method of an object literal. */
async function evaluate(source: string): Promise<Body> {
  try {
    return await evaluateModule(`export default (${source}\n);`);
  } catch (e) {
    // Deno says that a module has a syntax error by a TypeError.
    if (!/SyntaxError/.test(String(e))) throw e;
    return await evaluateModule(`const o = {${source}\n}; export default o[Object.keys(o)[0]];`);
  }
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

async function answer({ body, args, node, run, seed, dtype }: WorkerCall): Promise<void> {
  let reply: WorkerReply;
  try {
    const func = await findBody(body);
    const context: ScriptContext = {
      ...{ signal: never, node, run, seed },
      array: (shape, data, own) => madeArray(shape, data, own ?? dtype),
    };
    reply = { result: pack(await func(...unpack(args) as unknown[], context), null) };
  } catch (e) {
    reply = { error: packError(e) };
  }
  try {
    port.postMessage(reply);
  } catch (e) {
    // The result is something that cannot be sent.
    port.postMessage({ error: packError(e) });
  }
}

if (port.on) port.on("message", (call) => void answer(call));
else port.onmessage = ({ data }) => void answer(data);
