// A kernel of your own: plain loops for the CPU, WGSL for the GPU, one op in graphs and gradients.
import * as tf from "@weft/weft";
import { applyOp, defineOp, flatId, gridFor, makeProgram } from "@weft/weft/ops";

// How far each row of x is from each row of y, in a city of blocks.
const CityDistance = defineOp({
  name: "Lesson>CityDistance",
  inputs: ["x: float32", "y: float32"],
  outputs: ["distance: float32"],
  infer: ([{ shape: x }, { shape: y }]) => [[x?.[0] ?? null, y?.[0] ?? null]],
  cpu: ([x, y], [out]) => {
    const [n, d] = x.shape, [m] = y.shape;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < m; j++) {
        let sum = 0;
        for (let k = 0; k < d; k++) sum += Math.abs(x.data[i * d + k] - y.data[j * d + k]);
        out.data[i * m + j] = sum;
      }
    }
  },
  gpu: [{
    name: "one invocation a pair",
    fits: () => true,
    plan: ({ inputs: [x, y] }, profile) => {
      const [n, d] = x.shape, [m] = y.shape;
      const program = makeProgram({
        name: "city_distance",
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
      const buffers = [{ input: 0 }, { input: 1 }, { output: 0 }];
      return {
        dispatches: [{ program, buffers, params: [n, m, d], grid: gridFor(n * m, 64, profile) }],
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
const cityDistance = (x, y) => applyOp(CityDistance, [x, y])[0];

const x = tf.tensor([[0, 1], [2, 3]]), y = tf.tensor([[1, 1], [4, 0]]);
console.log("distances", await cityDistance(x, y).array());
console.log("gradient", await tf.grad((x) => tf.sum(cityDistance(x, y)))(x).array());
const nearest = tf.function((x) => tf.argMin(cityDistance(x, y), 1));
console.log("nearest rows", await (await nearest.async(x)).data());
