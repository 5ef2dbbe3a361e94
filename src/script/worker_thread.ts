/**
 * One worker, whatever the platform calls it: a Node-style thread where there are such, which tell when they end and do not keep the
 * process alive while idle; a Web Worker elsewhere.
 */
import { workerCode } from "./worker_code.ts";
import type { WorkerCall, WorkerReply } from "./worker_wire.ts";

/** Who hears of a worker. */
export interface ThreadEvents {
  /** It answered. */
  reply(reply: WorkerReply): void;
  /** It is gone, or broken. */
  fail(error: Error): void;
}

/** A running worker. */
export interface Thread {
  /** Sends a call. Throws where an argument cannot be sent. */
  send(call: WorkerCall, transfer: ArrayBuffer[]): void;
  /** Says whether the process should stay alive for it. */
  keepAlive(wanted: boolean): void;
  /** Ends it at once. */
  terminate(): void;
}

interface NodeWorker {
  on(event: string, handler: (value: never) => void): void;
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}
type NodeThreads = { Worker: new (url: URL) => NodeWorker };

/** What tests change. */
export const threadOptions: {
  /** True: Web Workers even where there are Node-style threads. */
  webWorkers: boolean;
  /** Milliseconds after which an idle Web Worker ends. */
  linger: number;
} = { webWorkers: false, linger: 250 };

/** Starts a worker. Throws where the platform has none. */
export function startThread(events: ThreadEvents): Thread {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): NodeThreads | undefined };
  };
  const threads = process?.getBuiltinModule?.("node:worker_threads");
  const code = workerCode();
  // They take code and files, nothing from elsewhere.
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
  worker.on("message", (reply: WorkerReply) => events.reply(reply));
  worker.on("error", (error: Error) => events.fail(error));
  worker.on("messageerror", (error: Error) => events.fail(error));
  worker.on(
    "exit",
    (code: number) =>
      events.fail(new Error(`The worker ended with code ${code} before the body returned`)),
  );
  return {
    send: (call, transfer) => worker.postMessage(call, transfer),
    keepAlive: (wanted) => wanted ? worker.ref() : worker.unref(),
    terminate: () => void worker.terminate().catch(() => {}),
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
  worker.onmessage = ({ data }) => events.reply(data);
  worker.onmessageerror = () => events.fail(new Error("The worker's answer cannot be read"));
  worker.onerror = (event) => {
    event.preventDefault();
    events.fail(new Error(event.message || "The worker failed"));
  };
  return {
    send: (call, transfer) => worker.postMessage(call, transfer),
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

function dataUrl(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

let blob: string | undefined;

/** The place of the code on the web, where a worker must come from the page's own origin, which that of a data URL is not. */
function blobUrl(code: string): string {
  return blob ??= URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
}
