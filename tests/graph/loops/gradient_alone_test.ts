/** Scripts in loops and branches when a session fetches the gradient alone: those run on which it depends, as in TensorFlow. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

type Body = (u: tf.Tensor, s: Script) => tf.Tensor;
type Script = (u: tf.Tensor, tag?: string) => tf.Tensor;

const loop = (body: Body): Body => (x, s) =>
  tf.whileLoop((j) => tf.less(j, 2), (j, u) => [tf.add(j, 1), body(u, s)], [
    tf.scalar(0, "int32"),
    x,
  ])[1];
const branch = (body: Body): Body => (x, s) =>
  tf.cond(tf.greater(tf.gather(x, 0), -100), () => body(x, s), () => x);
const map = (body: Body): Body => (x, s) =>
  tf.mapFn((u) => body(u as tf.Tensor, s), tf.stack([x, x])) as tf.Tensor;

const AROUND: Readonly<Record<string, (body: Body) => Body>> = {
  loop,
  cond: branch,
  "loop in cond": (body) => branch(loop(body)),
  "cond in loop": (body) => loop(branch(body)),
  "loop in loop": (body) => loop(loop(body)),
  mapFn: map,
};

const BODIES: Readonly<Record<string, Body>> = {
  "tanh(script)": (u, s) => tf.tanh(s(u)),
  "u + script": (u, s) => tf.add(u, s(u)),
  "u · script": (u, s) => tf.mul(u, s(u)),
  "sin(u) + script": (u, s) => tf.add(tf.sin(u), s(u)),
  "an unused script": (u, s) => (s(u), tf.mul(u, 2)),
  "a + u · b": (u, s) => tf.add(s(u, "a"), tf.mul(u, s(u, "b"))),
  "u · b + a": (u, s) => tf.add(tf.mul(u, s(u, "b")), s(u, "a")),
};

/**
 * Number of scripts that run for the gradient alone, in the order of {@linkcode AROUND}: as in TensorFlow 2.21, except
 * for those in {@linkcode MORE}.
 */
const COUNTS: Readonly<Record<string, readonly number[]>> = {
  "tanh(script)": [0, 0, 0, 2, 0, 0],
  "u + script": [0, 0, 0, 2, 0, 0],
  "u · script": [2, 1, 2, 2, 4, 2],
  "sin(u) + script": [2, 0, 2, 2, 4, 0],
  "an unused script": [0, 0, 0, 0, 0, 0],
  "a + u · b": [4, 1, 4, 4, 8, 2],
  "u · b + a": [4, 1, 4, 4, 8, 2],
};

/** Where more scripts run than in TensorFlow, which has no order of effects in graphs. */
const MORE: Readonly<Record<string, number>> = {
  // A branch whose result is read runs its effects.
  "an unused script in cond in loop": 2,
  // A script runs after those before it.
  "a + u · b in cond": 2,
  "a + u · b in mapFn": 4,
};

interface Result {
  /** The gradient alone. */
  readonly alone: unknown;
  /** The gradient fetched together with the value. */
  readonly together: unknown;
  /** Scripts that ran for the gradient alone. */
  readonly ran: readonly string[];
  /** Scripts that ran for both. */
  readonly ranForBoth: readonly string[];
}

async function fetchGradient(
  body: Body,
  given: readonly number[] = [1, 2],
  gradient = (y: tf.Tensor, x: tf.Tensor) => tf.gradients(tf.sum(y), [x])[0]!,
): Promise<Result> {
  const log: string[] = [];
  const script: Script = (u, tag = "w") =>
    tf.numpyFunction(
      (a: tf.NdArray) => {
        log.push(tag);
        return a.map((v) => 2 * Number(v));
      },
      [u],
      tf.TensorSpec(u.staticShape, "float32"),
    );
  const graph = new tf.Graph();
  const { x, y, d } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [given.length]), y = body(x, script);
    return { x, y, d: gradient(y, x) };
  });
  const sess = new tf.Session({ graph });
  const feeds = new Map([[x, given]]);
  const alone = await sess.run(d, { feeds });
  const ran = log.splice(0);
  const { numTensors } = tf.memory();
  await sess.run(d, { feeds });
  assertEquals(tf.memory().numTensors, numTensors);
  assertEquals(log.splice(0), ran);
  const [together] = await sess.run([d, y], { feeds });
  return { alone: array(alone), together: array(together), ran, ranForBoth: log };
}

const array = (v: unknown): unknown => v instanceof tf.NdArray ? v.toArray() : v;

for (const [what, body] of Object.entries(BODIES)) {
  Object.entries(AROUND).forEach(([where, around], i) => {
    testOnDevices(`a gradient alone of ${what} in ${where} runs what it needs`, async () => {
      const { alone, together, ran } = await fetchGradient(around(body));
      assertEquals(alone, together);
      assertEquals(ran.length, MORE[`${what} in ${where}`] ?? COUNTS[what][i]);
    });
  });
}

const turns = (
  n: number,
  next: (vars: tf.Tensor[]) => tf.Tensor[],
  start: tf.Tensor[],
): tf.Tensor[] =>
  tf.whileLoop(
    (j) => tf.less(j, n),
    (j, ...vars) => [tf.add(j, 1), ...next(vars as tf.Tensor[])],
    [
      tf.scalar(0, "int32"),
      ...start,
    ] as const,
  ).slice(1) as tf.Tensor[];

/** Other dependencies of a gradient. `ran` is in the order of the calls. */
const PROGRAMS: readonly { readonly what: string; readonly body: Body; readonly ran: string }[] = [
  {
    what: "loops and branches one after the other",
    body: (x, s) => {
      const plus = BODIES["u + script"];
      return loop(plus)(loop(plus)(branch(plus)(x, s), s), s);
    },
    ran: "",
  },
  {
    what: "a loop before one whose value nothing reads",
    body: (x, s) =>
      loop(BODIES["u + script"])(tf.mul(loop((u) => tf.add(u, s(u, "v")))(x, s), 2), s),
    ran: "vv",
  },
  {
    what: "a loop before one that needs its values",
    body: (x, s) => loop(BODIES["u · script"])(loop((u) => tf.add(u, s(u, "v")))(x, s), s),
    ran: "vvww",
  },
  {
    what: "a variable that scales another",
    body: (x, s) => turns(2, ([u, v]) => [tf.mul(u, v), tf.add(v, s(v))], [x, x])[0],
    ran: "ww",
  },
  {
    what: "a variable that scales no other",
    body: (x, s) => turns(2, ([u, v]) => [tf.mul(u, 2), tf.add(v, s(v))], [x, x])[0],
    ran: "",
  },
  {
    what: "variables that change places",
    body: (x, s) =>
      turns(3, ([u, v, w]) => [v, tf.mul(w, 3), tf.add(u, s(u))], [x, tf.neg(x), tf.sin(x)])[0],
    ran: "",
  },
  {
    what: "a script that says whether a loop goes on",
    body: (x, s) =>
      tf.whileLoop((u) => tf.less(tf.gather(s(u, "c"), 0), 20), (u) => [tf.add(u, s(u, "b"))], [
        x,
      ])[0],
    ran: "cbcbcbc",
  },
  {
    what: "a limit of iterations",
    body: (x, s) =>
      tf.whileLoop((_) => true, (u) => [tf.add(u, s(u))], [x], { maximumIterations: 3 })[0],
    ran: "",
  },
  {
    what: "variables of other dtypes",
    body: (x, s) => {
      const text = tf.scalar("t"), flag = tf.scalar(true);
      return turns(2, ([u, t, b, h, n]) => {
        const more = s(u);
        return [
          tf.add(tf.mul(u, 3), more),
          tf.where(b, t, t),
          tf.logicalNot(tf.greater(tf.sum(more), 0)),
          tf.add(h, tf.cast(more, "float16")),
          tf.add(n, tf.cast(tf.sum(more), "int32")),
        ];
      }, [x, text, flag, tf.cast(x, "float16"), tf.scalar(1, "int32")])[0];
    },
    ran: "",
  },
  {
    what: "a variable whose shape varies",
    body: (x, s) =>
      tf.whileLoop(
        (u) => tf.less(tf.size(u), 7),
        (u) => [tf.concat([u, s(u)])],
        [x],
        { shapeInvariants: [[null]] },
      )[0],
    ran: "ww",
  },
  {
    what: "a result that is there twice",
    body: (x, s) =>
      turns(2, ([u, v]) => {
        const once = tf.mul(tf.add(u, s(v)), 3);
        return [once, once];
      }, [x, x])[0],
    ran: "",
  },
  {
    what: "exponents, whose gradient reads the result",
    body: (x, s) => loop((u) => tf.exp(tf.add(tf.mul(u, 0.1), tf.mul(s(u), 0))))(x, s),
    ran: "ww",
  },
  {
    what: "scan",
    body: (x, s) =>
      tf.scan(
        (a, row) =>
          tf.add(tf.mul(a as tf.Tensor, 3), tf.add(row as tf.Tensor, s(row as tf.Tensor))),
        tf.stack([x, x, x]),
      ) as tf.Tensor,
    ran: "",
  },
  {
    what: "scan of products",
    body: (x, s) =>
      tf.scan(
        (a, row) => tf.mul(a as tf.Tensor, s(row as tf.Tensor)),
        tf.stack([x, x, x]),
      ) as tf.Tensor,
    ran: "ww",
  },
  {
    what: "a script with a gradient",
    body: (x, s) =>
      loop((u) =>
        tf.add(
          tf.pyFunction((a: tf.Tensor) => tf.square(a), [u], tf.TensorSpec([2])) as tf.Tensor,
          s(u),
        )
      )(x, s),
    ran: "ww",
  },
  {
    what: "an explicit control dependency",
    body: (x, s) =>
      branch((u) => {
        const first = s(u, "first");
        return tf.controlDependencies([first], () => tf.mul(u, tf.mul(u, 2)));
      })(x, s),
    ran: "first",
  },
];

for (const { what, body, ran: want } of PROGRAMS) {
  testOnDevices(`a gradient alone is that beside the value: ${what}`, async () => {
    const { alone, together, ran } = await fetchGradient(body);
    assertEquals(alone, together);
    assertEquals(ran.join(""), want);
  });
}

testOnDevices("a gradient alone reads variables after what the body assigns them", async () => {
  for (const around of [loop, branch, map]) {
    const graph = new tf.Graph();
    const { x, y, d, v } = graph.asDefault(() => {
      const x = tf.placeholder("float32", [2]), v = tf.variable(2);
      const body: Body = (u) => {
        v.assignAdd(1);
        return tf.mul(u, v.readValue());
      };
      const y = around(body)(x, (u) => u);
      return { x, y, v, d: tf.gradients(tf.sum(y), [x])[0]! };
    });
    const results = [];
    for (const fetches of [[d], [d, y]]) {
      const sess = new tf.Session({ graph });
      await sess.run(v.initializer!);
      results.push(array((await sess.run(fetches, { feeds: new Map([[x, [1, 2]]]) }))[0]));
      results.push(await sess.run(v));
    }
    assertEquals(results.slice(0, 2), results.slice(2));
  }
});

testOnDevices("a gradient of a gradient alone is that beside the value", async () => {
  for (const around of Object.values(AROUND)) {
    for (const [what, body] of Object.entries(BODIES)) {
      const twice = (y: tf.Tensor, x: tf.Tensor): tf.Tensor => {
        const [first] = tf.gradients(tf.sum(y), [x]);
        return tf.gradients(tf.sum(tf.square(first!)), [x])[0]!;
      };
      const { alone, together } = await fetchGradient(around(body), [0.5, 0.25], twice);
      assertEquals(alone, together, what);
    }
  }
});

testOnDevices("a function runs its effects for a gradient alone", () => {
  for (const around of [loop, branch, map]) {
    let calls = 0;
    const script: Script = (u) =>
      tf.numpyFunction((a: tf.NdArray) => (calls++, a), [u], tf.TensorSpec(u.shape, "float32"));
    const f = tf.function((x: tf.Tensor) => {
      const y = around(BODIES["u + script"])(x, script);
      return tf.gradients(tf.sum(y), [x])[0]!;
    });
    f(tf.tensor([1, 2]));
    assertEquals(calls, around === branch ? 1 : 2);
  }
});

testOnDevices(
  "a gradient alone of a branch reads its predicate and what the branch reads, whatever stands before it",
  async () => {
    const graph = new tf.Graph();
    const { feeds, slopes } = graph.asDefault(() => {
      const [a, b, c] = [0, 1, 2].map(() => tf.placeholder("float32", [2]));
      const taken = tf.greater(tf.sum(tf.square(c)), 1);
      const y = tf.cond(
        taken,
        () => tf.add(tf.neg(a), tf.mul(b, tf.mul(b, c))),
        () => tf.sub(tf.mul(c, 3), a),
      );
      return { feeds: [a, b, c], slopes: [a, b, c].map((x) => tf.gradients(tf.sum(y), [x])[0]!) };
    });
    await using session = new tf.Session({ graph });
    const run = async (i: number, c: number[]): Promise<unknown> =>
      array(
        await session.run(slopes[i], {
          feeds: new Map([[feeds[0], [5, 6]], [feeds[1], [2, 3]], [feeds[2], c]]),
        }),
      );
    const all = async (
      c: number[],
    ): Promise<unknown> => [await run(0, c), await run(1, c), await run(2, c)];
    assertEquals(await all([4, 1]), [[-1, -1], [16, 6], [4, 9]]);
    assertEquals(await all([0.5, 0]), [[-1, -1], [0, 0], [3, 3]]);
  },
);
