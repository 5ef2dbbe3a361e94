// Times the library beside another state of itself, in one process and in turns, so that a slower row is seen on any machine.
//
//   deno task bench against ENTRY [cpu|webgpu] [--ops] [--scripts] [--only ID]... [--quick] [--other-first]
//
// ENTRY is the other state's mod.ts, in a checkout of its own. The ratio is the other's time by this one's: below 1 is slower
// than it was. Rows are those of the tables (op by op and as a function) and the calls of functions, loops, sessions,
// tapes and scripts below. The state that is loaded first is often the slower one, by some per cent: `--other-first` turns that
// round, so that a row is slower only where both orders say so. Times are those of the processor, all threads together.
// `--scripts` compares the rows of bench/script/main.ts instead, see script/against.ts.

import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { compareScripts } from "./script/against.ts";
import { OP_ROWS } from "./op_rows/mod.ts";
import { createWeftPeer, type Weft, weftOutput, type WeftPeer } from "./peers/weft.ts";
import type { Case, Device, Output, Row } from "./row.ts";
import { ROWS } from "./rows/mod.ts";
import { EFFORT, runRow } from "./runner.ts";

// deno-lint-ignore no-explicit-any -- both states are asked for names that TensorFlow.js's types do not know.
type Both = any;

/** A call that is timed, set up in either state. */
type Make = (tf: Both) => () => Output | Promise<Output>;

/** A wait for a GPU is long beside short samples. */
const GPU_TURNS = { sampleMs: 30, maxRounds: 15 };
const QUICK_TURNS = { maxRounds: 5, rowMs: 1000 };

/** Milliseconds for idle threads to come to rest. */
const REST_MS = 5;

const nothing: Output = { data: () => Promise.resolve([]), dispose() {} };

const kept = (tf: Both, t: Both): Output => weftOutput(tf, t);

/** The programs around the ops. */
const CALLS: Readonly<Record<string, Make>> = {
  function_one_op: (tf) => {
    const f = tf.function((x: Both) => tf.add(x, 1)), x = tf.ones([4]);
    return () => kept(tf, f(x));
  },
  function_nested: (tf) => {
    const g = tf.function((x: Both) => tf.mul(tf.sin(x), 2)), x = tf.ones([4]);
    const f = tf.function((x: Both) => tf.add(g(x), g(tf.neg(x))));
    return () => kept(tf, f(x));
  },
  function_variable: (tf) => {
    const v = tf.variable(tf.ones([4])), x = tf.ones([4]);
    const f = tf.function((x: Both) => {
      v.assign(tf.add(v, x));
      return tf.sum(v);
    });
    return () => kept(tf, f(x));
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
    return () => kept(tf, f(x));
  },
  while_loop_100: (tf) => {
    const f = tf.function((x: Both) =>
      tf.whileLoop((i: Both) => tf.less(i, 100), (i: Both, y: Both) => [
        tf.add(i, 1),
        tf.mul(y, 0.99),
      ], [tf.scalar(0, "int32"), x])[1]
    );
    const x = tf.ones([16]);
    return () => kept(tf, f(x));
  },
  while_loop_eager_100: (tf) => {
    const x = tf.ones([16]);
    return () =>
      kept(
        tf,
        tf.tidy(() => {
          let y = x;
          for (let i = 0; i < 100; i++) y = tf.mul(y, 0.99);
          return y;
        }),
      );
  },
  tape: (tf) => {
    const w = tf.variable(tf.ones([8, 8])), x = tf.ones([4, 8]);
    return () =>
      kept(
        tf,
        tf.tidy(() => {
          const { grads } = tf.variableGrads(() => tf.sum(tf.square(tf.matMul(x, w))), [w]);
          return Object.values(grads)[0];
        }),
      );
  },
  minimize: (tf) => {
    const w = tf.variable(tf.ones([8, 8])), x = tf.ones([4, 8]), sgd = tf.train.sgd(1e-6);
    return () => {
      sgd.minimize(() => tf.sum(tf.square(tf.matMul(x, w))), false, [w]);
      return nothing;
    };
  },
  numpy_function: (tf) => {
    const x = tf.ones([16]), body = (a: Both) => a;
    return () => kept(tf, tf.numpyFunction(body, [x], "float32"));
  },
  py_function: (tf) => {
    const x = tf.ones([16]), body = (a: Both) => tf.mul(a, 2);
    return () => kept(tf, tf.pyFunction(body, [x], "float32"));
  },
  session: (tf) => {
    const graph = new tf.Graph();
    const { x, y } = graph.asDefault(() => {
      const x = tf.placeholder("float32", [4]);
      return { x, y: tf.sum(tf.mul(tf.sin(x), 2)) };
    });
    const session = new tf.Session({ graph }), feeds = new Map([[x, new Float32Array(4)]]);
    return async () => {
      await session.run(y, { feeds });
      return nothing;
    };
  },
  session_script: (tf) => {
    const graph = new tf.Graph();
    const { x, y } = graph.asDefault(() => {
      const x = tf.placeholder("float32", [4]);
      return { x, y: tf.sum(tf.numpyFunction((a: Both) => a, [tf.sin(x)], "float32")) };
    });
    const session = new tf.Session({ graph }), feeds = new Map([[x, new Float32Array(4)]]);
    return async () => {
      await session.run(y, { feeds });
      return nothing;
    };
  },
};

const CALL_ROWS: readonly Row[] = Object.entries(CALLS).map(([id, make]) => {
  const weft = ({ tf }: { tf: Weft }): Case => ({ call: make(tf) });
  return { id: `call_${id}`, what: "", weft };
});

/** Times the rows and prints a line for each, the slowest against the other state last. */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals: [entry, device = "cpu"] } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: "string", multiple: true, default: [] },
      ops: { type: "boolean", default: false },
      scripts: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      "other-first": { type: "boolean", default: false },
    },
  });
  if (entry === undefined) throw new RangeError("Cannot compare: give the other state's mod.ts");
  if (values.scripts) {
    const { only, "other-first": otherFirst } = values;
    return await compareScripts(entry, { device: device as Device, only, otherFirst });
  }
  // The threads of one state go on looking for work for a moment, which the other's time must not pay for.
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, REST_MS));
  const load = async (from?: string): Promise<WeftPeer> => ({
    ...await createWeftPeer(device as Device, from),
    settle,
  });
  const url = pathToFileURL(entry).href;
  const first = values["other-first"] ? await load(url) : null;
  const now = await load(), other = first ?? await load(url);
  const rows = (values.ops ? OP_ROWS : [...CALL_ROWS, ...ROWS]).filter((row) =>
    (row.devices?.includes(device as Device) ?? true) && row.weft && !row.heavy &&
    (values.only.length === 0 || values.only.some((part) => row.id.includes(part)))
  );
  const lines: { ratio: number; line: string }[] = [];
  for (const row of rows) {
    for (const system of ["weft", "weftFunction"] as const) {
      const build = row[system] as Row["tfjs"];
      if (build === undefined) continue;
      const { check: _, ...rest } = row;
      // The other state takes the place of a peer.
      const pair: Row = { ...rest, weft: build as NonNullable<Row["weft"]>, tfjs: build };
      delete (pair as { weftFunction?: unknown }).weftFunction;
      const { cells } = await runRow(
        pair,
        { weft: now, tfjs: other as never },
        {
          ...EFFORT.turns,
          ...(device === "webgpu" && GPU_TURNS),
          ...(values.quick && QUICK_TURNS),
        },
      );
      const [mine, its] = [cells.weft, cells.tfjs];
      const name = `${row.id}${system === "weft" ? "" : " (function)"}`.padEnd(40);
      if (mine?.kind !== "time" || its?.kind !== "time") {
        console.log(`${name} ${JSON.stringify(mine)} ${JSON.stringify(its)}`);
        continue;
      }
      const ratio = its.medianMs / mine.medianMs;
      const best = its.bestMs / mine.bestMs;
      const line = `${name} ${ratio.toFixed(2)} (best ${best.toFixed(2)})  ${
        (mine.medianMs * 1e3).toFixed(1)
      } µs, was ${(its.medianMs * 1e3).toFixed(1)}`;
      console.log(line);
      lines.push({ ratio, line });
    }
  }
  const slower = lines.filter(({ ratio }) => ratio < 0.95).sort((a, b) => b.ratio - a.ratio);
  console.log(`\n${lines.length} rows, ${slower.length} below 0.95`);
  for (const { line } of slower) console.log(line);
  return 0;
}
