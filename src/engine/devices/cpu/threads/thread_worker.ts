/**
 * Starts the threads: workers of Node's kind where these exist (Deno and Node: they do not keep the process alive),
 * else web workers from a Blob. The code of a worker is a text.
 */
import { FUNCTIONS_PER_MODULE, LAYOUT, NOT_MADE, THREW } from "./thread_layout.ts";
import { builtin } from "./worker_count.ts";

interface NodeWorkers {
  readonly Worker: new (source: string, options: object) => {
    unref(): void;
    on(event: "error", listener: () => void): void;
    terminate(): unknown;
  };
}
export interface WorkerData {
  readonly memory: WebAssembly.Memory;
  /** Address of the control block. */
  readonly control: number;
}

/** A started worker. */
export interface StartedWorker {
  /** Ends it, whatever it does. */
  terminate(): unknown;
}

/** Starts workers over a memory. Null where there can be none. */
export function startWorkers(count: number, data: WorkerData): StartedWorker[] | null {
  const node = builtin<NodeWorkers>("node:worker_threads"), started: StartedWorker[] = [];
  if (node) {
    for (let i = 0; i < count; i++) {
      const source =
        `const { workerData } = require("node:worker_threads");\n(${WORKER})(workerData);`;
      const worker = new node.Worker(source, { eval: true, workerData: data });
      // A worker that fails is ignored: without a listener, its error would end the process.
      worker.on("error", () => {});
      worker.unref();
      started.push(worker);
    }
    return started;
  }
  // A waiting web worker keeps a Deno process alive: without Node's workers Deno has none.
  if ("Deno" in globalThis || typeof Worker !== "function" || typeof Blob !== "function") {
    return null;
  }
  const source = `onmessage = ({ data }) => (${WORKER})(data);`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  for (let i = 0; i < count; i++) {
    const worker = new Worker(url);
    worker.onerror = (event) => event.preventDefault();
    worker.postMessage(data);
    started.push(worker);
  }
  return started;
}

/** Most bytes of an error's message: they stand where the arguments were. */
const MOST_TEXT = 4 * (LAYOUT.callWords - 2);

/** Polls before a thread sleeps: the next job often comes at once. */
const PATIENCE = 20000;

/**
 * The code of a worker: in a loop it waits for a job and takes calls until there are none. A call that threw is not made again by
 * others, as half of what it makes may stand in memory.
 */
const WORKER = `({ memory, control }) => {
  const words = new Int32Array(memory.buffer), base = control >>> 2;
  const env = { memory, sin: Math.sin, cos: Math.cos, tan: Math.tan, fmod: (a, b) => a % b };
  const instantiate = (code) => new WebAssembly.Instance(new WebAssembly.Module(code), { env }).exports;
  const functions = new Map();
  const find = (number) => {
    let f = functions.get(number);
    if (f) return f;
    const module = Math.floor(number / ${FUNCTIONS_PER_MODULE}), first = base + ${LAYOUT.modules};
    const end = first + ${LAYOUT.moduleWords} * words[base + ${LAYOUT.published}];
    let entry = first;
    while (entry < end && words[entry] !== module) entry += ${LAYOUT.moduleWords};
    if (entry === end) throw new Error("No module " + module);
    const code = new Uint8Array(memory.buffer, words[entry + 1] >>> 0, words[entry + 2]).slice();
    Object.values(instantiate(code)).forEach((f, i) => functions.set(module * ${FUNCTIONS_PER_MODULE} + i, f));
    f = functions.get(number);
    if (!f) throw new Error("No function " + number);
    return f;
  };
  const tell = (at, error) => {
    const text = new TextEncoder().encode(String(error && error.message || error)).subarray(0, ${MOST_TEXT});
    new Uint8Array(memory.buffer).set(text, 4 * (at + 2));
    words[at + 1] = text.length;
    words[at] = ${THREW};
  };
  let seen = 0, forgotten = 0;
  Atomics.add(words, base + ${LAYOUT.ready}, 1);
  for (;;) {
    for (let i = 0; i < ${PATIENCE} && Atomics.load(words, base + ${LAYOUT.job}) === seen; i++);
    Atomics.wait(words, base + ${LAYOUT.job}, seen);
    seen = Atomics.load(words, base + ${LAYOUT.job});
    if (words[base + ${LAYOUT.forgotten}] !== forgotten) {
      forgotten = words[base + ${LAYOUT.forgotten}];
      functions.clear();
    }
    for (;;) {
      const k = Atomics.sub(words, base + ${LAYOUT.left}, 1) - 1;
      if (k < 0) break;
      const at = base + ${LAYOUT.calls} + k * ${LAYOUT.callWords};
      let run;
      try {
        run = find(words[at]);
      } catch {
        // The calling thread makes this call, and those after it.
        words[at] = ${NOT_MADE};
        Atomics.sub(words, base + ${LAYOUT.ready}, 1);
        Atomics.add(words, base + ${LAYOUT.done}, 1);
        return;
      }
      try {
        run(...words.subarray(at + 2, at + 2 + words[at + 1]));
      } catch (error) {
        tell(at, error);
      }
      Atomics.add(words, base + ${LAYOUT.done}, 1);
    }
  }
}`;
