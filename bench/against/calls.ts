// Times calls of functions, loops, sessions, tapes and scripts in two states of the library, each in processes of its own that take
// turns: in one process the states share the compiler, and a call costs several times what it costs alone.

import { fileURLToPath } from "node:url";
import { median } from "../starts/start.ts";

// deno-lint-ignore no-explicit-any -- both states are asked for names that TensorFlow.js's types do not know.
type Both = any;

/** Sets a call up in either state. */
type Make = (tf: Both) => () => unknown;

/** Processes of each state for a row. */
const PROCESSES = 5;
/** Milliseconds of calls before the first sample, in which the compiler optimizes them. */
const WARM_MS = 400;
const SAMPLES = 15, SAMPLE_MS = 20;

/** Programs around the ops, each made once and then called. */
const CALLS: Readonly<Record<string, Make>> = {
  function_one_op: (tf) => {
    const f = tf.function((x: Both) => tf.add(x, 1)), x = tf.ones([4]);
    return () => f(x);
  },
  function_nested: (tf) => {
    const g = tf.function((x: Both) => tf.mul(tf.sin(x), 2)), x = tf.ones([4]);
    const f = tf.function((x: Both) => tf.add(g(x), g(tf.neg(x))));
    return () => f(x);
  },
  function_variable: (tf) => {
    const v = tf.variable(tf.ones([4])), x = tf.ones([4]);
    const f = tf.function((x: Both) => {
      v.assign(tf.add(v, x));
      return tf.sum(v);
    });
    return () => f(x);
  },
  // Heads of attention by the shape of what comes, which the trace does not know.
  function_unknown_shape: (tf) => {
    const w = tf.ones([16, 16]), x = tf.ones([2, 3, 16]);
    const f = tf.function((x: Both) => {
      for (let i = 0; i < 6; i++) {
        const [n, t] = tf.unstack(tf.slice(tf.shape(x), [0], [2]));
        const heads = tf.reshape(tf.matMul(tf.reshape(x, [-1, 16]), w), tf.stack([n, t, 4, 4]));
        x = tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), tf.stack([n, t, 16]));
      }
      return x;
    }, { inputSignature: [tf.TensorSpec([null, null, 16], "float32")] });
    return () => f(x);
  },
  while_loop_100: (tf) => {
    const f = tf.function((x: Both) =>
      tf.whileLoop((i: Both) => tf.less(i, 100), (i: Both, y: Both) => [
        tf.add(i, 1),
        tf.mul(y, 0.99),
      ], [tf.scalar(0, "int32"), x])[1]
    );
    const x = tf.ones([16]);
    return () => f(x);
  },
  while_loop_eager_100: (tf) => {
    const x = tf.ones([16]);
    return () =>
      tf.tidy(() => {
        let y = x;
        for (let i = 0; i < 100; i++) y = tf.mul(y, 0.99);
        return y;
      });
  },
  tape: (tf) => {
    const w = tf.variable(tf.ones([8, 8])), x = tf.ones([4, 8]);
    return () =>
      tf.tidy(() => {
        const { grads } = tf.variableGrads(() => tf.sum(tf.square(tf.matMul(x, w))), [w]);
        return Object.values(grads)[0];
      });
  },
  minimize: (tf) => {
    const w = tf.variable(tf.ones([8, 8])), x = tf.ones([4, 8]), sgd = tf.train.sgd(1e-6);
    return () => sgd.minimize(() => tf.sum(tf.square(tf.matMul(x, w))), false, [w]);
  },
  numpy_function: (tf) => {
    const x = tf.ones([16]), body = (a: Both) => a;
    return () => tf.numpyFunction(body, [x], "float32");
  },
  py_function: (tf) => {
    const x = tf.ones([16]), body = (a: Both) => tf.mul(a, 2);
    return () => tf.pyFunction(body, [x], "float32");
  },
  session: (tf) => {
    const graph = new tf.Graph();
    const { x, y } = graph.asDefault(() => {
      const x = tf.placeholder("float32", [4]);
      return { x, y: tf.sum(tf.mul(tf.sin(x), 2)) };
    });
    const session = new tf.Session({ graph }), feeds = new Map([[x, new Float32Array(4)]]);
    return () => session.run(y, { feeds });
  },
  session_script: (tf) => {
    const graph = new tf.Graph();
    const { x, y } = graph.asDefault(() => {
      const x = tf.placeholder("float32", [4]);
      return { x, y: tf.sum(tf.numpyFunction((a: Both) => a, [tf.sin(x)], "float32")) };
    });
    const session = new tf.Session({ graph }), feeds = new Map([[x, new Float32Array(4)]]);
    return () => session.run(y, { feeds });
  },
};

/** Microseconds of a call: the median of the samples, and the least. */
export interface CallTime {
  readonly median: number;
  readonly best: number;
}

/** Names of the calls. */
export const CALL_NAMES: readonly string[] = Object.keys(CALLS);

/** Times a call in two states, whose processes take turns, on the CPU. */
export async function compareCall(
  name: string,
  entries: readonly [string, string],
): Promise<[CallTime, CallTime]> {
  const times: [CallTime[], CallTime[]] = [[], []];
  for (let i = 0; i < PROCESSES; i++) {
    for (const [k, entry] of entries.entries()) times[k].push(await inProcess(entry, name));
  }
  const [now, other] = times.map((all) => ({
    median: median(all.map((t) => t.median)),
    best: median(all.map((t) => t.best)),
  }));
  return [now, other];
}

async function inProcess(entry: string, name: string): Promise<CallTime> {
  const flags = ["run", "--allow-all", "--no-lock", "--no-check", "--no-config"];
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: [...flags, fileURLToPath(import.meta.url), entry, name],
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot time ${name} of ${entry}: its process failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Calls `call` until `ms` milliseconds have passed; returns microseconds a call. */
async function sample(call: () => unknown, ms: number): Promise<number> {
  const start = performance.now();
  let calls = 0, passed = 0;
  do {
    for (let i = 0; i < 16; i++) {
      let made = call();
      if (made instanceof Promise) made = await made;
      (made as { dispose?: () => void } | null)?.dispose?.();
    }
    calls += 16;
    passed = performance.now() - start;
  } while (passed < ms);
  return passed * 1e3 / calls;
}

if (import.meta.main) {
  const [entry, name] = Deno.args;
  const tf: Both = await import(entry);
  await tf.setBackend("cpu");
  const call = CALLS[name](tf), times: number[] = [];
  await sample(call, WARM_MS);
  for (let i = 0; i < SAMPLES; i++) times.push(await sample(call, SAMPLE_MS));
  console.log(JSON.stringify({ median: median(times), best: Math.min(...times) }));
}
