/** Kernels over rows in vector code, against the ops' own loops in float64. */

import { assertThrows, fail } from "@std/assert";
import { InvalidArgumentError } from "../../../src/engine/core/errors.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import type { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import { ENGINES, randomSource } from "./engines.ts";
import { op, runFast, runLoops } from "./kernel_runs.ts";

const SHAPES = [
  [1],
  [5],
  [4],
  [3, 1],
  [3, 7],
  [2, 3, 130],
  [0, 4],
  [4, 0],
  [64, 33],
  [9, 32],
  [
    6,
    2,
  ],
  [7, 31],
  [6, 256],
  [5, 257],
  [4, 300],
];

function compare(
  engine: Engine,
  name: string,
  inputs: NdArray[],
  attrs: Record<string, unknown> = {},
): void {
  const got = runFast(engine, op(name), inputs, attrs)!, want = runLoops(op(name), inputs, attrs);
  want.forEach((w, k) => {
    for (let i = 0; i < w.size; i++) {
      const [a, b] = [got[k].data[i] as number, w.data[i] as number];
      const same = Number.isNaN(b)
        ? Number.isNaN(a)
        : a === b || Math.abs(a - b) <= 2e-6 * (1 + Math.abs(b));
      if (!same) {
        fail(
          `${name} of [${inputs[0].shape}], output ${k}, element ${i}: received ${a}, wanted ${b}`,
        );
      }
    }
  });
}

for (const [name, engine] of ENGINES) {
  const random = randomSource(4);
  const make = (shape: number[], scale = 4): NdArray => {
    const x = NdArray.zeros("float32", shape);
    (x.data as Float32Array).forEach((_, i, d) => d[i] = scale * (random() - 0.4));
    return x;
  };

  Deno.test(`softmax and its kin agree with float64 loops: ${name}`, () => {
    for (const shape of SHAPES) {
      const x = make(shape, 20);
      compare(engine, "Softmax", [x]);
      compare(engine, "LogSoftmax", [x]);
      const [y] = runLoops(op("Softmax"), [x]), [l] = runLoops(op("LogSoftmax"), [x]);
      compare(engine, "_SoftmaxGrad", [y, make(shape)]);
      compare(engine, "_LogSoftmaxGrad", [l, make(shape)]);
    }
  });

  Deno.test(`softmax of NaN and infinities is what the loops give: ${name}`, () => {
    for (const value of [NaN, Infinity, -Infinity, 3e38, 1e-45]) {
      for (const at of [0, 3, 6, 8]) {
        const x = make([3, 9]);
        (x.data as Float32Array)[9 + at] = value;
        compare(engine, "Softmax", [x]);
        compare(engine, "LogSoftmax", [x]);
      }
    }
    compare(engine, "Softmax", [
      new NdArray("float32", [2, 5], new Float32Array(10).fill(-Infinity)),
    ]);
  });

  Deno.test(`cross entropies agree with float64 loops: ${name}`, () => {
    for (const shape of [[1, 1], [3, 7], [5, 130], [0, 4]]) {
      const x = make(shape, 10);
      compare(engine, "SoftmaxCrossEntropyWithLogits", [x, make(shape, 1)]);
      const labels = NdArray.zeros("int32", [shape[0]]);
      (labels.data as Int32Array).forEach((_, i, d) => d[i] = Math.floor(random() * shape[1]));
      compare(engine, "SparseSoftmaxCrossEntropyWithLogits", [x, labels], { Tlabels: "int32" });
    }
    const labels = new NdArray("int32", [1], new Int32Array([4]));
    assertThrows(
      () =>
        runFast(engine, op("SparseSoftmaxCrossEntropyWithLogits"), [make([1, 4]), labels], {
          Tlabels: "int32",
        }),
      InvalidArgumentError,
      "label value of 4",
    );
  });

  Deno.test(`layer normalization and its gradient agree with float64 loops: ${name}`, () => {
    for (const shape of SHAPES) {
      const n = shape[shape.length - 1];
      if (n === 0) continue;
      for (const shift of [0, 100]) {
        const x = make(shape);
        (x.data as Float32Array).forEach((v, i, d) => d[i] = v + shift);
        compare(engine, "_LayerNorm", [x, make([n]), make([n])], { epsilon: 1e-3 });
        compare(engine, "_LayerNormGrad", [make(shape), x, make([n])], { epsilon: 1e-3 });
      }
    }
  });
}
