/**
 * One worker, on any platform. Node's threads (Deno has them too) report their end and keep no process alive, but
 * messages use a web port: Deno copies messages posted to a thread directly byte by byte. Elsewhere it is a Web Worker.
 */
import { Error } from "../../core/throwing/builtin_errors.ts";
import { workerCode } from "./worker_code.ts";
import type { WorkerMessage, WorkerReply } from "./worker_wire.ts";

/** Receives a worker's answers, and its end or failure. */
interface ThreadEvents {
  reply(reply: WorkerReply): void;
  fail(error: Error): void;
}

/** A running worker. */
export interface Thread {
  /** Sends a message. Throws for content that cannot be sent. */
  send(message: WorkerMessage, transfer: ArrayBuffer[]): void;
  /** Sets whether the worker keeps the process alive. */
  keepAlive(wanted: boolean): void;
  terminate(): void;
}

interface NodeWorker {
  on(event: string, handler: (value: never) => void): void;
  postMessage(message: unknown, transfer: MessagePort[]): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}
type NodeThreads = { Worker: new (url: URL) => NodeWorker };
type NodePort = MessagePort & { unref?(): void };

/** Options that tests change. */
export const threadOptions: {
  /** Use Web Workers even if there are Node's threads. */
  webWorkers: boolean;
  /** Milliseconds after which an idle Web Worker ends. */
  linger: number;
} = { webWorkers: false, linger: 250 };

/** Starts a worker. Throws on a platform without workers. */
export function startThread(events: ThreadEvents): Thread {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): NodeThreads | undefined };
  };
  const threads = process?.getBuiltinModule?.("node:worker_threads");
  const code = workerCode();
  // They accept code and files, nothing from elsewhere.
  const isLocal = typeof code === "string" || code.protocol === "file:";
  return threads && isLocal && !threadOptions.webWorkers
    ? startNodeWorker(threads, code, events)
    : startWebWorker(code, events);
}

function startNodeWorker(
  { Worker }: NodeThreads,
  code: URL | string,
  events: ThreadEvents,
): Thread {
  const worker = new Worker(typeof code === "string" ? dataUrl(code) : code);
  const { port1, port2 } = new MessageChannel();
  const port: NodePort = port1;
  listen(port, events);
  // The thread keeps the process alive while it works.
  port.unref?.();
  worker.postMessage(port2, [port2]);
  worker.on("error", (error: Error) => events.fail(error));
  worker.on("exit", (code: number) => {
    events.fail(new Error(`The worker ended with code ${code} before the body returned`));
  });
  return {
    send: (message, transfer) => port.postMessage(message, transfer),
    keepAlive: (wanted) => wanted ? worker.ref() : worker.unref(),
    terminate() {
      port.close();
      void worker.terminate().catch(() => {});
    },
  };
}

function startWebWorker(code: URL | string, events: ThreadEvents): Thread {
  if (typeof Worker === "undefined") {
    throw new Error(
      "Cannot run a body in a worker: this platform has neither node:worker_threads nor Web Workers",
    );
  }
  const worker = new Worker(typeof code === "string" ? blobUrl(code) : code, { type: "module" });
  let idle: ReturnType<typeof setTimeout> | undefined;
  listen(worker, events);
  worker.onerror = (event) => {
    event.preventDefault();
    events.fail(new Error(event.message || "The worker failed"));
  };
  return {
    send: (message, transfer) => worker.postMessage(message, transfer),
    keepAlive(wanted) {
      clearTimeout(idle);
      if (wanted) return;
      // An idle Web Worker would keep some processes alive: it ends after a while.
      idle = setTimeout(() => {
        worker.terminate();
        events.fail(new Error("The worker ended after being idle"));
      }, threadOptions.linger);
    },
    terminate() {
      clearTimeout(idle);
      worker.terminate();
    },
  };
}

function listen(to: MessagePort | Worker, events: ThreadEvents): void {
  to.onmessage = ({ data }: MessageEvent) => events.reply(data);
  to.onmessageerror = () => events.fail(new Error("The worker's answer cannot be read"));
}

function dataUrl(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

let blob: string | undefined;

/** Returns a code URL of the page's own origin, as a worker must have; a data URL has another. */
function blobUrl(code: string): string {
  return blob ??= URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
}
