/** Ops that users define: a pointwise one, and one with kernels for both devices, in every way that an op is run. */
import * as tf from "@weft/weft";
import {
  applyOp,
  defineOp,
  definePointwise,
  flatId,
  gridFor,
  makeProgram,
  type OpDef,
  scalar as s,
} from "@weft/weft/ops";
import { gradCheck, opCheck } from "@weft/weft/testing";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";

const DEVICES = HAS_WEBGPU ? ["CPU", "GPU"] as const : ["CPU"] as const;

const Mish: OpDef = definePointwise("Test>Mish", ([x]) => s.mul(x, s.tanh(s.log1p(s.exp(x)))), {
  grad: {
    saves: ["x"],
    vjp({ x }, [dy]) {
      const inner = tf.tanh(tf.softplus(x));
      const slope = tf.add(inner, tf.mul(x, tf.mul(tf.sub(1, tf.square(inner)), tf.sigmoid(x))));
      return [tf.mul(dy, slope)];
    },
  },
});
const mish = (x: tf.TensorLike): tf.Tensor => applyOp(Mish, [x])[0];

/** Sums of absolute differences of all rows of one matrix and all of another: what is between them in a city of blocks. */
const CityDistance: OpDef = defineOp({
  name: "Test>CityDistance",
  inputs: ["x: T", "y: T"],
  outputs: ["distance: T"],
  attrs: ["T: {float32, float64}"],
  infer: ([{ shape: x }, { shape: y }]) => {
    if (x !== null && y !== null && (x.length !== 2 || y.length !== 2 || x[1] !== y[1])) {
      throw new tf.ValueError(`Cannot compare rows of [${x}] and [${y}]: wanted [n, d] and [m, d]`);
    }
    return [[x?.[0] ?? null, y?.[0] ?? null]];
  },
  cpu: ([x, y], [out]) => {
    const [n, d] = x.shape, [m] = y.shape;
    const a = x.data as Float64Array, b = y.data as Float64Array, to = out.data as Float64Array;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < m; j++) {
        let sum = 0;
        for (let k = 0; k < d; k++) sum += Math.abs(a[i * d + k] - b[j * d + k]);
        to[i * m + j] = sum;
      }
    }
  },
  gpu: [{
    name: "one invocation a pair",
    fits: ({ inputs: [x] }) => x.dtype === "float32",
    plan: ({ inputs: [x, y] }, profile) => {
      const [n, d] = x.shape, [m] = y.shape;
      const program = makeProgram({
        name: "city distance",
        inputs: ["f32", "f32"],
        outputs: ["f32"],
        params: ["n", "m", "d"],
        workgroup: [64, 1, 1],
        body: `let place = ${flatId(64)};
if (place >= p.n * p.m) { return; }
let i = place / p.m;
let j = place % p.m;
var sum = 0.0;
for (var k = 0u; k < p.d; k++) { sum += abs(in0[i * p.d + k] - in1[j * p.d + k]); }
out0[place] = sum;`,
      });
      return {
        dispatches: n * m === 0 ? [] : [{
          program,
          buffers: [{ input: 0 }, { input: 1 }, { output: 0 }],
          params: [n, m, d],
          grid: gridFor(n * m, 64, profile),
        }],
      };
    },
  }],
  grad: {
    saves: ["x", "y"],
    vjp({ x, y }, [dy]) {
      const signs = tf.sign(tf.sub(tf.expandDims(x, 1), tf.expandDims(y, 0)));
      const weighted = tf.mul(tf.expandDims(dy, 2), signs);
      return [tf.sum(weighted, 1), tf.neg(tf.sum(weighted, 0))];
    },
  },
});
const cityDistance = (x: tf.TensorLike, y: tf.TensorLike): tf.Tensor =>
  applyOp(CityDistance, [x, y])[0];

Deno.test("opCheck() holds of ops that users define", async () => {
  await opCheck(Mish, [{ inputs: [{ shape: [3, 4] }] }], { devices: DEVICES });
  await opCheck(CityDistance, [{
    inputs: [{ shape: [3, 5], distinct: true }, { shape: [4, 5], distinct: true, low: -3 }],
    secondOrder: false,
    gradient: false,
  }], { devices: DEVICES });
});

testOnDevices("an op of one's own runs eagerly, in functions and in sessions", async () => {
  const x = tf.tensor([[0, 1], [2, 3]]), y = tf.tensor([[1, 1]]);
  const expected = [[1], [3]];
  assertEquals(await cityDistance(x, y).array(), expected);
  assertEquals(await tf.function(cityDistance)(x, y).array(), expected);
  const graph = new tf.Graph();
  const [a, distance] = graph.asDefault(() => {
    const a = tf.placeholder("float32", [null, 2]);
    return [a, cityDistance(a, y.arraySync() as number[][])];
  });
  assertEquals(distance.staticShape, [null, 1]);
  const session = new tf.Session({ graph });
  const result = await session.run(distance, { feeds: new Map([[a, x]]) }) as tf.NdArray;
  assertEquals(result.toArray(), expected);
});

testOnDevices("gradients flow through an op of one's own", () => {
  gradCheck((x) => mish(x), [[-1, 0.5, 2]]);
  const [dx, dy] = tf.grads((x: tf.Tensor, y: tf.Tensor) => cityDistance(x, y))([
    tf.tensor([[0, 3]]),
    tf.tensor([[1, 1]]),
  ]);
  assertEquals([dx.arraySync(), dy.arraySync()], [[[-1, 1]], [[1, -1]]]);
});

Deno.test({
  name: "a pointwise op of one's own is fused with its neighbours [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const f = tf.function((x: tf.Tensor) => tf.mul(mish(tf.add(x, 1)), 2));
    const x = tf.ones([8]);
    f(x).dispose();
    const { dispatches } = await tf.profile(() => f(x).dispose());
    assertEquals(dispatches, 1);
    await tf.setBackend("cpu");
  },
});

Deno.test("an op of one's own survives a GraphDef of the same program, and is named where TensorFlow is to read it", async () => {
  const graph = new tf.Graph();
  graph.asDefault(() => mish(tf.placeholder("float32", [2], "x")));
  const def = JSON.parse(JSON.stringify(graph.toGraphDef({ portable: false })));
  const again = new tf.Graph();
  const name = def.node.find((n: { op: string }) => n.op === "Test>Mish").name;
  const [y] = again.asDefault(() =>
    tf.importGraphDef(def, { prefix: "", returnElements: [`${name}:0`] })
  ) as tf.Tensor[];
  const result = await new tf.Session({ graph: again }).run(y, { feeds: { "x:0": [0, 0] } });
  assertEquals((result as tf.NdArray).toArray(), [0, 0]);
  const { message } = assertThrows(() => graph.toGraphDef(), tf.ValueError) as Error;
  assert(message.includes("it is an op of this program's own"), message);
});

const Later: OpDef = defineOp({
  name: "Test>Later",
  inputs: ["x: float32"],
  outputs: ["y: float32"],
  hostInputs: ["x"],
  infer: ([{ shape }]) => [shape],
  host: {
    async run({ inputs: [x], context }) {
      await Promise.resolve();
      context.tick();
      return [(x as tf.NdArray).map((v) => Number(v) + 1)];
    },
    eager: ([x]) => [tf.add(x, 1)],
  },
});

testOnDevices("an op of one's own runs on the host, where a graph awaits it", async () => {
  assertEquals(applyOp(Later, [[1, 2]])[0].arraySync(), [2, 3]);
  const graph = new tf.Graph();
  const y = graph.asDefault(() =>
    tf.square(applyOp(Later, [tf.neg(tf.placeholder("float32", [2], "x"))])[0])
  );
  const session = new tf.Session({ graph });
  const out = await session.run(y, { feeds: { "x:0": [1, 4] } }) as tf.NdArray;
  assertEquals(out.toArray(), [0, 9]);
});

Deno.test("definitions and applications that do not fit are refused with what was wanted", () => {
  const infer = CityDistance.infer, cpu = CityDistance.cpu!;
  const whole = { name: "Test>Other", inputs: ["x: T"], outputs: ["y: T"], attrs: ["T: floating"] };
  for (
    const [make, message] of [
      [() => defineOp({ ...whole, name: "Other", infer, cpu }), "wanted a namespace and a name"],
      [() => defineOp({ ...whole, name: "Test>Mish", infer, cpu }), "it is defined already"],
      [() => defineOp({ ...whole, infer } as never), "nothing says what it computes"],
      [() => defineOp({ ...whole, cpu } as never), "infer, its shape rule, is undefined"],
      [() => definePointwise("Test>Third", 3 as never), "wanted a function"],
      [() => applyOp({} as never, []), "wanted what defineOp() returned"],
      [() => applyOp(Mish, 3 as never), "wanted a list"],
      [() => applyOp(Mish, [{} as never]), "Argument 'x' passed to 'Test>Mish'"],
      [() => applyOp(Mish, []), "Test>Mish"],
      [() => cityDistance([[1]], [[1, 2]]), "Cannot compare rows of [1,1] and [1,2]"],
    ] as const
  ) assertThrows(make, Error, message);
  const wrong = { ...whole, name: "Test>Wrong", outputs: ["y T"] };
  assertThrows(() => defineOp({ ...wrong, infer, cpu }), tf.ValueError, "y T");
});
