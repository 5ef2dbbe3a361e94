/**
 * The command: serves the models in folders over HTTP.
 *
 *   deno run -A main.ts MODEL_DIR... [--name NAME] [--host 127.0.0.1] [--port 8501] [--device cpu|webgpu] [--batch ROWS]
 *                       [--batch-delay MS] [--timeout MS] [--token-env NAME] [--cert FILE --key FILE] [--origins ORIGIN,...]
 *                       [--connections N]
 *
 * MODEL_DIR is the folder of a SavedModel or of a TensorFlow.js model (`model.json`), or holds a folder of them for each version, named
 * by its number: the highest is served. A model is called like its folder, or `NAME=MODEL_DIR`. It listens on loopback unless
 * told otherwise. Pages of the origins that are named, or of all by `*`, may ask it. The token that clients must bring is read from the environment, where other processes cannot see it. With a
 * certificate and its private key, PEM files both, it answers by HTTPS. One client has, and begins within a second, 1,024 connections, or as many as are told. SIGTERM and SIGINT end it when all requests are answered.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { NotFoundError, PermissionDeniedError, ValueError } from "../engine/core/errors.ts";
import { deferred } from "../engine/runtime/run/timers.ts";
import { runMain } from "../library/io/command.ts";
import { CrossOrigin } from "./cross_origin.ts";
import { createHandler, type Handler } from "./handler.ts";
import { listen } from "./listener.ts";
import { answerFrom, failFrom, frontOf } from "./worker_handler.ts";

/** The used part of `Deno`: the library's types know browsers only. */
interface DenoRuntime {
  readonly args: readonly string[];
  readonly mainModule: string;
  readonly env: {
    get(name: string): string | undefined;
    set(name: string, value: string): void;
  };
  exit(code: number): never;
  readTextFile(path: string): Promise<string>;
  readonly permissions: {
    query(wanted: { readonly name: "env"; readonly variable: string }): Promise<{
      readonly state: string;
    }>;
    request(wanted: { readonly name: "net"; readonly host: string }): Promise<{
      readonly state: string;
    }>;
  };
  addSignalListener(signal: "SIGINT" | "SIGTERM", handler: () => void): void;
}

const deno = (globalThis as unknown as { readonly Deno: DenoRuntime }).Deno;

const USAGE =
  "usage: serve [NAME=]MODEL_DIR... [--host HOST] [--port PORT] [--device cpu|webgpu] " +
  "[--batch ROWS] [--batch-delay MS] [--timeout MS] [--token-env NAME] [--cert FILE --key FILE] [--origins ORIGIN,...] [--connections N]";

/** Splits `NAME=FOLDER`; a folder alone names its model. */
function named(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  const folder = text.replace(/\/+$/, "");
  return [folder.slice(folder.lastIndexOf("/") + 1), folder];
}

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  if (text !== "" && value >= 0) return value;
  throw new ValueError(`Cannot use --${flag} "${text}": wanted a number`);
}

function portOf(text: string): number {
  const port = numberOf("port", text);
  if (Number.isInteger(port) && port < 65536) return port;
  throw new ValueError(`Cannot use --port "${text}": wanted a whole number below 65536`);
}

/** Reads a file in PEM form. Throws `ValueError` where it holds no `what`. */
async function pem(file: string, what: "CERTIFICATE" | "PRIVATE KEY"): Promise<string> {
  const text = await deno.readTextFile(file).catch((error: Error) => {
    if (error.name !== "NotFound") throw error;
    throw new NotFoundError(`Cannot read ${file}: there is no such file`);
  });
  if (new RegExp(`-----BEGIN [A-Z ]*${what}-----`).test(text)) return text;
  throw new ValueError(`Cannot serve by HTTPS: ${file} holds no ${what} in PEM form`);
}

/** Reads the certificate and its key. Throws `ValueError` where only one of the files is named. */
async function certificate(
  { cert, key }: { readonly cert?: string | undefined; readonly key?: string | undefined },
): Promise<{ readonly cert?: string; readonly key?: string }> {
  if (cert === undefined && key === undefined) return {};
  if (cert === undefined || key === undefined) {
    throw new ValueError("Cannot serve by HTTPS: --cert and --key are wanted together");
  }
  return { cert: await pem(cert, "CERTIFICATE"), key: await pem(key, "PRIVATE KEY") };
}

/** Flags of the command. */
interface Flags {
  readonly host: string;
  readonly port: string;
  readonly device?: string | undefined;
  readonly batch?: string | undefined;
  readonly "batch-delay": string;
  readonly timeout: string;
  readonly "token-env"?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly origins?: string | undefined;
  readonly connections: string;
}

function parse(args: readonly string[]): { flags: Flags; folders: readonly string[] } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      host: { type: "string", default: "127.0.0.1" },
      port: { type: "string", default: "8501" },
      device: { type: "string" },
      batch: { type: "string" },
      "batch-delay": { type: "string", default: "1" },
      timeout: { type: "string", default: "30000" },
      "token-env": { type: "string" },
      cert: { type: "string" },
      key: { type: "string" },
      origins: { type: "string" },
      connections: { type: "string", default: "1024" },
    },
  });
  if (positionals.length === 0) throw new ValueError(USAGE);
  return { flags: values, folders: positionals };
}

/** Loads the models and makes their handler. */
async function makeHandler(args: readonly string[]): Promise<Handler> {
  const { flags, folders } = parse(args);
  const variable = flags["token-env"];
  const token = variable === undefined ? undefined : deno.env.get(variable);
  if (variable !== undefined && !token) {
    throw new ValueError(`Cannot read the token: the environment has no ${variable}`);
  }
  // The thread that listens has no need of the library, and collects its garbage in a quarter of the time without it.
  const { loadModels } = await import("./model_folders.ts");
  const models = await loadModels(folders.map(named), flags.device);
  return createHandler({
    models,
    timeoutMs: numberOf("timeout", flags.timeout),
    ...(token !== undefined && { token }),
    ...(flags.batch !== undefined && {
      batching: {
        maxRows: numberOf("batch", flags.batch),
        maxDelayMs: numberOf("batch-delay", flags["batch-delay"]),
      },
    }),
  });
}

/** Throws `PermissionDeniedError` where the command may not listen: Deno's own error ends the process with a stack. */
async function askToListen(host: string): Promise<void> {
  const { state } = await deno.permissions.request({ name: "net", host });
  if (state === "granted") return;
  throw new PermissionDeniedError(`Cannot listen on ${host}: run it with --allow-net`);
}

/** Names of the command's threads beside its first. */
const LISTENER = "weft listener", MODELS = "weft models";

/** Messages of the thread that listens to the first one. */
type Said =
  | { readonly kind: "serving"; readonly line: string }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "drained" };

/** The used part of the global scope of a worker. */
interface WorkerScope {
  readonly name: string;
  readonly location: { readonly href: string };
  postMessage(said: Said): void;
  addEventListener(type: "message", listener: () => void): void;
}

/**
 * Variable of Deno's: turns of an event loop that has more to do until it looks at its sockets. It is read where a thread begins; sixty
 * turns are Deno's own, in which a client that asks for health waits for the bodies and requests of others.
 */
const LOOKS = "DENO_TOKIO_EVENT_INTERVAL";

/** Begins the thread that listens. Without the permission for its variable it is one like all others. */
async function listeningThread(): Promise<Worker> {
  const { state } = await deno.permissions.query({ name: "env", variable: LOOKS });
  const isSet = state === "granted" && deno.env.get(LOOKS) === undefined;
  if (isSet) deno.env.set(LOOKS, "1");
  return new Worker(deno.mainModule, { type: "module", name: LISTENER });
}

/** Begins the thread that listens, tells what it says, and hands it the signals, which reach the first thread alone. */
async function main(args: readonly string[]): Promise<number> {
  // What is wrong with the flags is said before anything begins.
  parse(args);
  const listener = await listeningThread(), ended = deferred<number>();
  listener.addEventListener("message", ({ data }: MessageEvent<Said>) => {
    if (data.kind === "serving") {
      console.log(data.line);
      // One that does not serve yet is ended by the system.
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        deno.addSignalListener(signal, () => listener.postMessage("stop"));
      }
    } else if (data.kind === "drained") ended.resolve(0);
    else ended.reject(new Error(data.message));
  });
  listener.addEventListener("error", (event) => {
    event.preventDefault();
    ended.reject(new Error(`The thread that listens has failed: ${event.message}`));
  });
  return await ended.promise;
}

/** Listens in a worker, and has another one load the models and compute: health is answered meanwhile. */
async function listenFor(args: readonly string[], scope: WorkerScope): Promise<void> {
  const { flags, folders } = parse(args);
  const tls = await certificate(flags);
  const origins = new CrossOrigin(flags.origins?.split(","));
  const port = portOf(flags.port), timeoutMs = numberOf("timeout", flags.timeout);
  const mostConnections = numberOf("connections", flags.connections);
  if (mostConnections < 1) throw new ValueError("Cannot use --connections 0: wanted 1 or more");
  const host = flags.host.includes(":") ? `[${flags.host}]` : flags.host;
  await askToListen(`${host}:${port}`);
  const worker = new Worker(scope.location.href, { type: "module", name: MODELS });
  const front = await frontOf(worker, { timeoutMs });
  const names = folders.map((text) => named(text)[0]).join(", ");
  const listener = await listen(
    { ...tls, hostname: flags.host, port, origins, mostConnections },
    (request) => Promise.resolve(origins.preflight(request) ?? front.answer(request)),
  );
  const scheme = tls.cert === undefined ? "http" : "https";
  scope.addEventListener("message", () => {
    void front.drain().then(() => listener.close())
      .then(() => scope.postMessage({ kind: "drained" }));
  });
  scope.postMessage({
    kind: "serving",
    line: `Serving ${names} at ${scheme}://${host}:${listener.port}`,
  });
}

/** Runs the command, and in its workers their parts; exits with code 2 on a failure. */
export async function runCommand(): Promise<void> {
  if (!("WorkerGlobalScope" in globalThis)) return await runMain(USAGE, main);
  const scope = globalThis as unknown as WorkerScope;
  if (scope.name !== LISTENER) return await makeHandler(deno.args).then(answerFrom, failFrom);
  await listenFor(deno.args, scope).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    scope.postMessage({ kind: "failed", message });
  });
}

if (import.meta.main) await runCommand();
