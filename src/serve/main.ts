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
import { runMain } from "../library/io/command.ts";
import { CrossOrigin } from "./cross_origin.ts";
import { createHandler, type Handler } from "./handler.ts";
import { listen } from "./listener.ts";
import { answerFrom, failFrom, frontOf } from "./worker_handler.ts";

/** The used part of `Deno`: the library's types know browsers only. */
interface DenoRuntime {
  readonly args: readonly string[];
  readonly mainModule: string;
  readonly env: { get(name: string): string | undefined };
  exit(code: number): never;
  readTextFile(path: string): Promise<string>;
  readonly permissions: {
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

/** Listens, and has a worker load the models and compute: health is answered meanwhile. */
async function main(args: readonly string[]): Promise<number> {
  const { flags, folders } = parse(args);
  const tls = await certificate(flags);
  const origins = new CrossOrigin(flags.origins?.split(","));
  const port = portOf(flags.port), timeoutMs = numberOf("timeout", flags.timeout);
  const mostConnections = numberOf("connections", flags.connections);
  if (mostConnections < 1) throw new ValueError("Cannot use --connections 0: wanted 1 or more");
  const host = flags.host.includes(":") ? `[${flags.host}]` : flags.host;
  await askToListen(`${host}:${port}`);
  const worker = new Worker(deno.mainModule, { type: "module" });
  const front = await frontOf(worker, { timeoutMs });
  const names = folders.map((text) => named(text)[0]).join(", ");
  const listener = await listen(
    { ...tls, hostname: flags.host, port, origins, mostConnections },
    (request) => Promise.resolve(origins.preflight(request) ?? front.answer(request)),
  );
  const scheme = tls.cert === undefined ? "http" : "https";
  console.log(`Serving ${names} at ${scheme}://${host}:${listener.port}`);
  const stop = async (): Promise<void> => {
    await front.drain();
    await listener.close();
    deno.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    deno.addSignalListener(signal, () => void stop());
  }
  return await new Promise<never>(() => {});
}

/** Runs the command, and in its worker the part that computes; exits with code 2 on a failure. */
export const runCommand = (): Promise<void> =>
  "WorkerGlobalScope" in globalThis
    ? makeHandler(deno.args).then(answerFrom, failFrom)
    : runMain(USAGE, main);

if (import.meta.main) await runCommand();
