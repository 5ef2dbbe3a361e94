/**
 * Functions of `tf` joined with scripts, loops, branches, maps, time limits and gradients: the results are those of an eager call.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { toNdArray } from "../../src/engine/core/convert.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { testOnDevices, testRowOnDevices } from "../devices.ts";
import { type Given, JOINED_ROWS, type JoinedRow } from "./joined_rows.ts";

// deno-lint-ignore no-explicit-any
type Any = any;
type Tensors = tf.Tensor[];
/** A function of all inputs at once. */
type Body = (x: Tensors) => Tensors;

const tensorOf = ([values, dtype = "float32"]: Given): tf.Tensor =>
  tf.tensor(
    dtype === "int64" ? (values as number[]).map(BigInt) as Any : values as Any,
    undefined,
    dtype,
  );
const bodyOf = ({ call }: JoinedRow): Body => (x) => [call(...x)].flat() as Tensors;
const specsOf = (x: Tensors, ranked = true): Any[] =>
  x.map((t) => tf.TensorSpec(ranked ? t.shape.map(() => null) : null, t.dtype));
const arraysOf = (x: readonly tf.Tensor[]): Promise<tf.NdArray[]> =>
  Promise.all(x.map((t) => t.ndarray()));

/** Inputs that a script hands on, of which a graph knows the ranks or nothing. */
function scripted(x: Tensors, ranked: boolean): Tensors {
  const specs = x.map((t) =>
    tf.TensorSpec(ranked ? t.staticShape!.map(() => null) : null, t.dtype)
  );
  return [
    tf.pyFunction(
      (...given: Tensors) => given.slice(0, x.length).map((t) => tf.identity(t)),
      x,
      specs as Any,
    ),
  ]
    .flat() as Tensors;
}

/** The ways to call a body, each of which has its results. */
const WAYS: Readonly<Record<string, (body: Body, ranked: boolean) => Body>> = {
  "after a script": (body, ranked) => (x) => body(scripted(x, ranked)),
  "after a numpy script": (body) => (x) =>
    body(x.map((t) => {
      const vjp = t.dtype === "float32" ? { vjp: (_: unknown, dy: tf.Tensor) => [dy] } : {};
      const options = { shapeFn: (s: unknown) => s, ...vjp } as Any;
      return tf.numpyFunction((a: tf.NdArray) => a, [t], t.dtype, options) as tf.Tensor;
    })),
  "in a script": (body) => (x) => {
    const specs = tf.tidy(() => body(x.map((t) => t))).map(({ dtype }) =>
      tf.TensorSpec(null, dtype)
    );
    return [tf.pyFunction((...given: Tensors) => body(given.slice(0, x.length)), x, specs as Any)]
      .flat() as Tensors;
  },
  "in a branch": (body) => (x) =>
    tf.cond(
      tf.greaterEqual(tf.size(x[0]), 0),
      () => body(x),
      () => body(x).map((t) => tf.zerosLike(t)),
    ),
  "in a loop": (body) => (x) => {
    const first = body(x), shapes = first.map(({ staticShape: s }) => s && s.map(() => null));
    return tf.whileLoop(
      (i) => tf.less(i as tf.Tensor, 2),
      (i) => [tf.add(i as tf.Tensor, 1), ...body(x)],
      [tf.scalar(0, "int32"), ...first.map((t) => tf.zerosLike(t))],
      { shapeInvariants: [[], ...shapes] } as Any,
    ).slice(1) as Tensors;
  },
  "in a map": (body) => (x) => {
    const rows = x.map((t) => tf.stack([t, t]));
    const all = tf.mapFn((row: Any) => body(row), rows as Any) as Any as Tensors;
    return all.map((t) => tf.gather(t, 1));
  },
  "in a vectorized map": (body) => (x) => {
    const rows = x.map((t) => tf.stack([t, t]));
    const all = tf.vmap(((...row: Tensors) => body(row)) as Any)(...rows) as Any as Tensors;
    return all.map((t) => tf.gather(t, 1));
  },
  "in a function that a function calls": (body) => {
    const inner = tf.function(((...x: Tensors) => body(x)) as Any) as Any;
    return (x) => inner(...x) as Tensors;
  },
};

const TOLERANCE = { ulps: 16, ulpsOfLargest: 16 };

function assertSame(got: readonly tf.NdArray[], want: readonly tf.NdArray[], name: string): void {
  assertEquals(got.length, want.length, name);
  want.forEach((w, i) => {
    assertEquals(got[i].dtype, w.dtype, name);
    assertEquals(got[i].shape, w.shape, name);
    const text = w.dtype === "string" ? null : difference(got[i], w, w.dtype, TOLERANCE);
    assert(text === null, `${name}, result ${i}: ${text}`);
  });
}

/** A sum of results that have gradients, each element with a factor of its own. */
function loss(results: Tensors): tf.Tensor {
  const floats = results.filter(({ dtype }) => dtype === "float32");
  return floats.map((y) => {
    const factors = tf.add(tf.mod(tf.range(0, tf.size(y), 1), 3), 1);
    return tf.sum(tf.mul(tf.reshape(y, [-1]), factors));
  }).reduce((a, b) => tf.add(a, b));
}

function slopesOf(body: Body, wrt: readonly number[]): Body {
  return (x) => {
    using tape = new tf.GradientTape();
    const watched = wrt.map((k) => x[k]);
    tape.watch(watched);
    const found = tape.gradient(loss(body(x)), watched) as (tf.Tensor | null)[];
    return found.map((g, k) => tf.add(g ?? tf.zerosLike(watched[k]), 0));
  };
}

function wrtOf({ wrt, inputs }: JoinedRow): readonly number[] {
  return wrt ?? inputs.flatMap(([, dtype = "float32"], k) => (dtype === "float32" ? [k] : []));
}

/** Makes arrays of what a session gives, which has scalars as numbers and texts. */
function arrayOf(value: unknown, { dtype }: tf.NdArray): tf.NdArray {
  return value instanceof tf.NdArray ? value : toNdArray(value as Any, { dtype });
}

/** A graph of a body over placeholders, with the feeds of its inputs. */
async function graphOf(body: Body, x: Tensors) {
  const graph = new tf.Graph(), arrays = await arraysOf(x);
  const [inputs, fetches] = graph.asDefault(() => {
    const inputs = x.map((t) => tf.placeholder(t.dtype, t.shape.map(() => null)));
    return [inputs, body(inputs)];
  });
  return { graph, fetches, feeds: new Map(inputs.map((p, i) => [p, arrays[i]])) as Any };
}

type Check = (how: string, got: () => Promise<readonly unknown[]>) => Promise<void>;

/** Runs a body eagerly, as a function of unknown extents, of unknown ranks where it allows that, and in a session. */
async function everyWay(body: Body, x: Tensors, ranked: boolean, check: Check): Promise<void> {
  await check("eagerly", async () => await arraysOf(body(x)));
  for (const known of ranked ? [true] : [true, false]) {
    await check(known ? "compiled" : "compiled for unknown ranks", async () => {
      const f = tf.function(((...given: Tensors) => body(given)) as Any, {
        inputSignature: specsOf(x, known),
      });
      return await arraysOf(await f.async(...x) as Any);
    });
  }
  await check("in a session", async () => {
    const { graph, fetches, feeds } = await graphOf(body, x);
    await using session = new tf.Session({ graph });
    return await session.run(fetches, { feeds }) as unknown[];
  });
}

for (const row of JOINED_ROWS) {
  testRowOnDevices(`${row.name} is the same wherever it stands`, async () => {
    using _scope = tf.scope();
    const x = row.inputs.map(tensorOf), body = bodyOf(row), faults: string[] = [];
    const want = await arraysOf(body(x)), wrt = wrtOf(row);
    const slopes = wrt.length === 0 ? null : await arraysOf(slopesOf(body, wrt)(x));
    for (const [way, join] of Object.entries(WAYS)) {
      const joined = join(body, row.ranked === true);
      const check = (wanted: tf.NdArray[], what: string): Check => async (how, got) => {
        const name = `${way}, ${what}${how}`;
        try {
          const found = await got();
          assertSame(found.map((v, i) => arrayOf(v, wanted[i])), wanted, name);
        } catch (error) {
          faults.push(`${name}: ${error}`);
        }
      };
      // Axes of rows can only be moved where their number is known.
      const ranked = row.ranked === true || way === "in a vectorized map";
      await everyWay(joined, x, ranked, check(want, ""));
      if (slopes === null) continue;
      await everyWay(slopesOf(joined, wrt), x, true, check(slopes, "gradients "));
    }
    assertEquals(faults, []);
  });
}

for (const row of JOINED_ROWS.filter(({ wrong }) => wrong !== undefined)) {
  testRowOnDevices(`${row.name} names its op where it fails`, async (device) => {
    if (device === "webgpu" && row.isSilent) return;
    using _scope = tf.scope();
    const [at, values, text] = row.wrong!, body = bodyOf(row), ranked = row.ranked === true;
    const x = row.inputs.map((given, k) =>
      tensorOf(k === at ? [values, given[1] ?? "float32"] : given)
    );
    for (const way of ["after a script", "in a branch", "in a loop", "in a map"]) {
      await everyWay(WAYS[way](body, ranked), x, ranked, async (how, got) => {
        const error = await assertRejects(got, tf.errors.OpError, text, `${way}, ${how}`);
        assert(error.op !== undefined, `${way}, ${how}: ${error}`);
        if (how !== "eagerly") assert(error.node !== undefined, `${way}, ${how}: ${error}`);
      });
    }
  });
}

testOnDevices("a time limit ends what waits for a script, and nothing else", async () => {
  for (const row of JOINED_ROWS) {
    using _scope = tf.scope();
    const x = row.inputs.map(tensorOf), body = bodyOf(row), want = await arraysOf(body(x));
    let isStuck = true;
    const { graph, fetches, feeds } = await graphOf((given) => {
      const specs = x.map((t) => tf.TensorSpec(t.shape.map(() => null), t.dtype));
      const never = (...list: Any[]) =>
        isStuck ? new Promise(() => {}) : list.slice(0, x.length).map((a) => a);
      return body([tf.numpyFunction(never as Any, given, specs as Any)].flat() as Tensors);
    }, x);
    await using session = new tf.Session({ graph });
    await assertRejects(
      () => session.run(fetches, { feeds, timeoutMs: 1 }),
      tf.errors.DeadlineExceededError,
      "",
      row.name,
    );
    isStuck = false;
    const found = await session.run(fetches, { feeds, timeoutMs: 600_000 }) as unknown[];
    assertSame(found.map((v, i) => arrayOf(v, want[i])), want, row.name);
  }
});
