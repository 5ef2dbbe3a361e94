/** Samples of the optimizers' updates, against plain loops. */

import { any, positive, sample, type SampleTable } from "./inputs.ts";
import type { OpSample, Reference } from "@weft/weft/testing";
import { NdArray } from "@weft/weft";

type Numbers = readonly number[];
type Settings = { readonly [k: string]: number };

/** Lifts a function of one element to arrays; rank-0 inputs are the step's scalars. */
function elementwise(update: (x: Numbers, a: Settings) => Numbers): Reference {
  return (inputs, attrs) => {
    const [variable] = inputs;
    const outputs: Float64Array[] = [];
    for (let i = 0; i < variable.size; i++) {
      const now = inputs.map((x) => Number(x.at(x.rank === 0 ? 0 : i)));
      update(now, attrs as Settings).forEach((v, k) =>
        (outputs[k] ??= new Float64Array(variable.size))[i] = v
      );
    }
    return outputs.map((data) => new NdArray("float64", variable.shape, data));
  };
}

const rate = { shape: [], values: [0.125] };
/** Settings that every dtype holds exactly. */
const A = { rho: 0.875, momentum: 0.5, epsilon: 0.0625, beta1: 0.75, beta2: 0.875 };

/** `slots` are drawn like the variable but positive. */
function updates(
  slots: number,
  scalars: number,
  attrs: { readonly [k: string]: number | boolean | string },
  update: (x: Numbers, a: Settings) => Numbers,
): OpSample[] {
  return [[2, 3], [7], [1], [0], [4, 8]].filter((shape) => shape[0] > 0).map((shape) =>
    sample(
      [
        any(...shape),
        ...Array.from({ length: slots }, () => positive(...shape)),
        ...Array.from({ length: scalars }, () => rate),
        any(...shape),
      ],
      attrs,
      { reference: elementwise(update), secondOrder: false, gpuUlps: 512 },
    )
  );
}

const { sqrt } = Math;

/** Chains of parts: of no slot, of many with the variable changed, and of one that follows a change. */
function transforms(): OpSample[] {
  const chain = (parts: readonly (readonly [string, unknown?])[]) =>
    JSON.stringify(parts.map(([name, options = {}]) => [name, options]));
  const { beta1, beta2, epsilon } = A;
  return [
    ...updates(0, 1, {
      ...{ n: 1, m: 1 },
      parts: chain([["scale", { factor: 2 }], ["clip", { limit: 0.75 }], ["rate"], ["add"]]),
    }, ([x, lr, g]) => [x - lr * Math.min(Math.max(2 * g, -0.75), 0.75)]),
    ...updates(4, 4, {
      ...{ n: 5, m: 4 },
      parts: chain([
        ["trace", { decay: 0.5, nesterov: true }],
        ["adam", { beta1, beta2, epsilon }],
        ["decay", { weight: 0.25 }],
        ["schedule"],
        ["add"],
        ["lookahead", { size: 0.5 }],
      ]),
    }, ([x, t, m, v, ahead, c1, c2, factor, , g]) => {
      const t1 = 0.5 * t + g, u = g + 0.5 * t1;
      const m1 = beta1 * m + (1 - beta1) * u, v1 = beta2 * v + (1 - beta2) * u * u;
      const step = factor * (m1 * c1 / (sqrt(v1 * c2) + epsilon) + 0.25 * x);
      return [x + step - 0.5 * (ahead + step), t1, m1, v1, 0];
    }),
    ...updates(2, 0, {
      ...{ n: 3, m: 0 },
      parts: chain([["rms", { decay: 0.875, epsilon }], ["lion", { beta1, beta2 }], ["sign"]]),
    }, ([, v, m, g]) => {
      const v1 = 0.875 * v + 0.125 * g * g, u = g / sqrt(v1 + epsilon);
      return [Math.sign(beta1 * m + (1 - beta1) * u), v1, beta2 * m + (1 - beta2) * u];
    }),
    // More buffers than the least adapters bind at once.
    ...updates(3, 0, {
      ...{ n: 4, m: 0 },
      parts: chain([
        ["rms", { decay: 0.875, epsilon }],
        ["lion", { beta1, beta2 }],
        ["sign"],
        ["trace", { decay: 0.5, nesterov: false }],
      ]),
    }, ([, v, m, t, g]) => {
      const v1 = 0.875 * v + 0.125 * g * g, u = g / sqrt(v1 + epsilon);
      const t1 = 0.5 * t + Math.sign(beta1 * m + (1 - beta1) * u);
      return [t1, v1, beta2 * m + (1 - beta2) * u, t1];
    }),
    ...updates(
      1,
      1,
      { n: 2, m: 1, parts: chain([["lookahead", { size: 0.25 }]]) },
      ([x, ahead, , before]) => [x - 0.75 * (ahead + x - before), 0],
    ),
  ];
}

export const OPTIMIZER: SampleTable = {
  _ApplyGradientDescent: updates(0, 1, {}, ([x, lr, g]) => [x - lr * g]),
  _ApplyMomentum: [
    ...updates(1, 1, { momentum: A.momentum }, ([x, a, lr, g], { momentum }) => {
      const next = a * momentum + g;
      return [x - lr * next, next];
    }),
    ...updates(
      1,
      1,
      { momentum: A.momentum, use_nesterov: true },
      ([x, a, lr, g], { momentum }) => {
        const next = a * momentum + g;
        return [x - lr * (g + momentum * next), next];
      },
    ).slice(0, 1),
  ],
  _ApplyAdagrad: [
    ...updates(1, 1, { epsilon: A.epsilon }, ([x, a, lr, g], { epsilon }) => {
      const next = a + g * g;
      return [x - lr * g / sqrt(next + epsilon), next];
    }),
    ...updates(1, 1, { epsilon: A.epsilon, outside: true }, ([x, a, lr, g], { epsilon }) => {
      const next = a + g * g;
      return [x - lr * g / (sqrt(next) + epsilon), next];
    }).slice(0, 1),
  ],
  _ApplyAdadelta: [
    ...updates(2, 1, { rho: A.rho, epsilon: A.epsilon }, ([x, a, u, lr, g], { rho, epsilon }) => {
      const next = rho * a + (1 - rho) * g * g;
      const step = sqrt(u + epsilon) / sqrt(next + epsilon) * g;
      return [x - lr * step, next, rho * u + (1 - rho) * step * step];
    }),
    ...updates(
      2,
      1,
      { rho: A.rho, epsilon: A.epsilon, tfjs: true },
      ([x, a, u, lr, g], { rho, epsilon }) => {
        const step = sqrt(u + epsilon) / sqrt(a + epsilon) * g;
        return [x - lr * step, rho * a + (1 - rho) * g * g, rho * u + (1 - rho) * step * step];
      },
    ).slice(0, 1),
  ],
  _ApplyRMSProp: updates(
    2,
    1,
    { rho: A.rho, momentum: A.momentum, epsilon: A.epsilon },
    ([x, ms, mom, lr, g], a) => {
      const next = a.rho * ms + (1 - a.rho) * g * g;
      const step = a.momentum * mom + lr * g / sqrt(next + a.epsilon);
      return [x - step, next, step];
    },
  ),
  _ApplyCenteredRMSProp: [
    sample(
      [
        any(2, 3),
        { shape: [2, 3], low: -0.25, high: 0.25 },
        { shape: [2, 3], low: 2, high: 3 },
        any(2, 3),
        rate,
        any(2, 3),
      ],
      { rho: A.rho, momentum: A.momentum, epsilon: A.epsilon },
      {
        secondOrder: false,
        gpuUlps: 512,
        reference: elementwise(([x, mg, ms, mom, lr, g], a) => {
          const square = a.rho * ms + (1 - a.rho) * g * g, mean = a.rho * mg + (1 - a.rho) * g;
          const step = a.momentum * mom + lr * g / sqrt(square - mean * mean + a.epsilon);
          return [x - step, mean, square, step];
        }),
      },
    ),
  ],
  _ApplyAdam: [
    ...updates(
      2,
      2,
      { beta1: A.beta1, beta2: A.beta2, epsilon: A.epsilon },
      ([x, m, v, alpha, c2, g], a) => {
        const m1 = a.beta1 * m + (1 - a.beta1) * g, v1 = a.beta2 * v + (1 - a.beta2) * g * g;
        return [x - alpha * m1 / (sqrt(v1 * c2) + a.epsilon), m1, v1];
      },
    ),
    ...updates(
      2,
      2,
      { beta1: A.beta1, beta2: A.beta2, epsilon: A.epsilon, use_nesterov: true },
      ([x, m, v, alpha, c2, g], a) => {
        const m1 = a.beta1 * m + (1 - a.beta1) * g, v1 = a.beta2 * v + (1 - a.beta2) * g * g;
        return [
          x - alpha * (a.beta1 * m1 + (1 - a.beta1) * g) / (sqrt(v1 * c2) + a.epsilon),
          m1,
          v1,
        ];
      },
    ).slice(0, 1),
  ],
  _ApplyAdaMax: updates(
    2,
    1,
    { beta1: A.beta1, beta2: A.beta2, epsilon: A.epsilon },
    ([x, m, v, alpha, g], a) => {
      const m1 = a.beta1 * m + (1 - a.beta1) * g, v1 = Math.max(a.beta2 * v, Math.abs(g));
      return [x - alpha * m1 / (v1 + a.epsilon), m1, v1];
    },
  ),
  _ApplyAdamW: updates(
    2,
    2,
    { beta1: A.beta1, beta2: A.beta2, epsilon: A.epsilon },
    ([x, m, v, alpha, decay, g], a) => {
      const m1 = a.beta1 * m + (1 - a.beta1) * g, v1 = a.beta2 * v + (1 - a.beta2) * g * g;
      return [x - x * decay - alpha * m1 / (sqrt(v1) + a.epsilon), m1, v1];
    },
  ),
  _ApplyTransforms: transforms(),
  _ApplyFtrl: [-0.5, -0.25].flatMap((lr_power) =>
    updates(
      2,
      1,
      { l1: 0.125, l2: 0.0625, l2_shrinkage: 0.25, lr_power },
      ([x, a, linear, lr, g], { l1, l2, l2_shrinkage, lr_power }) => {
        const power = (v: number) => v ** -lr_power;
        const next = a + g * g;
        const moved = linear + g + 2 * l2_shrinkage * x - (power(next) - power(a)) / lr * x;
        const beyond = Math.sign(moved) * l1 - moved;
        const y = power(next) / lr + 2 * l2;
        return [Math.abs(moved) > l1 ? beyond / y : 0, next, moved];
      },
    ).slice(0, 3)
  ),
};
