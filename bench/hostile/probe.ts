// Honest clients of `serve` in a thread of its own process: they tell the processor's time that its threads take from a request to its
// answer. Milliseconds of the clock tell more of what else runs on the machine than of the server.

import { threadMs } from "./thread_time.ts";

/** Honest clients of each kind, and milliseconds between two of their requests. */
const CLIENTS = 2, THINK_MS = 20;
/** Milliseconds until a server that does not listen yet is asked again. */
const RETRY_MS = 100;

/** The message that begins the thread's work. */
export interface Probed {
  readonly port: number;
  /** The system's numbers of the threads of `serve`. */
  readonly listener: number;
  readonly worker: number;
}

/** An answer: when it came by `Date.now()`, and milliseconds of the processor up to then, of the threads on the request's way. */
export interface Sample {
  readonly kind: "predictions" | "health";
  readonly at: number;
  readonly ms: number;
}

async function connect(port: number): Promise<Deno.TcpConn> {
  for (;;) {
    try {
      return await Deno.connect({ hostname: "127.0.0.1", port });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** A request and the end of its answer. */
function request(kind: Sample["kind"], k: number): readonly [string, string] {
  if (kind === "health") {
    return ["GET /v2/health/ready HTTP/1.1\r\nHost: a\r\n\r\n", '{"ready":true}'];
  }
  const body = JSON.stringify({ instances: [[k, 1, 0, 0]] });
  const head =
    `POST /v1/models/mlp:predict HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`;
  return [head + body, `{"predictions":[[${k + 3},${2 * k + 4}]]}`];
}

/** Asks one request after the other, for ever. */
async function ask({ port, listener, worker }: Probed, kind: Sample["kind"]): Promise<never> {
  const threads = kind === "health" ? [listener] : [listener, worker];
  const spent = (): number => threads.reduce((ms, thread) => ms + threadMs(thread), 0);
  const socket = await connect(port), buffer = new Uint8Array(4096);
  const from = new TextEncoder(), to = new TextDecoder();
  for (let k = 0;; k = (k + 1) % 100) {
    const [text, wanted] = request(kind, k);
    const before = spent();
    await socket.write(from.encode(text));
    let said = "";
    while (!said.endsWith(wanted)) {
      const n = await socket.read(buffer);
      if (n === null || said.length > buffer.length) throw new Error(`${wanted} is not in ${said}`);
      said += to.decode(buffer.subarray(0, n));
    }
    const sample: Sample = { kind, at: Date.now(), ms: spent() - before };
    console.log(`probe ${JSON.stringify(sample)}`);
    await new Promise((resolve) => setTimeout(resolve, THINK_MS));
  }
}

addEventListener("message", (event) => {
  const { data } = event as MessageEvent<Probed>;
  for (const kind of ["predictions", "health"] as const) {
    for (let i = 0; i < CLIENTS; i++) void ask(data, kind);
  }
});
