/** Ops that draw random numbers, of a given shape or that of an input. */
import type { DType } from "../../../engine/core/dtype.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, type Rule } from "../../build/rule.ts";
import { dtypeOfNumber } from "../../file/types.ts";
import { to } from "../raw.ts";
import * as tf from "../../build/tf.ts";

function seedOf({ attributes }: NodeCall): number | undefined {
  return attributes.has("seed") ? Math.trunc(attributes.float("seed", 0)) : undefined;
}

/** Returns the dtype of the results; by default `otherwise`. */
function dtypeOf({ attributes }: NodeCall, otherwise: DType): DType {
  return attributes.has("dtype") ? dtypeOfNumber(attributes.int("dtype", 1)) : otherwise;
}

/** Returns the shape of an input, as a tensor if unknown. */
function shapeOf(n: NodeCall): readonly number[] | Tensor {
  const shape = n.shape(0);
  return shape === null || shape.includes(null) ? tf.shape(n.x(0)) : shape as number[];
}

function normal(n: NodeCall, shape: readonly number[] | Tensor, dtype: DType): Tensor {
  const { attributes } = n;
  const mean = attributes.float("mean", 0), scale = attributes.float("scale", 1);
  return tf.randomNormal(shape as Tensor, mean, scale, dtype, seedOf(n));
}

function uniform(n: NodeCall, shape: readonly number[] | Tensor, dtype: DType): Tensor {
  const { attributes } = n;
  const low = attributes.float("low", 0), high = attributes.float("high", 1);
  return tf.randomUniform(shape as Tensor, low, high, dtype, seedOf(n));
}

/** Makes the rule of a distribution, of the shape of an attribute. */
function ofShape(draw: typeof normal): Rule {
  return (n) =>
    draw(n, n.attributes.ints("shape") ?? n.fail("it has no shape"), dtypeOf(n, "float32"));
}

/** Makes the rule of a distribution, of the shape of an input. */
function ofInput(draw: typeof normal): Rule {
  return (n) => draw(n, shapeOf(n), dtypeOf(n, n.dtype(0)));
}

function bernoulli(n: NodeCall): Tensor {
  const x = n.x(0), dtype = x.dtype === "float64" ? "float64" : "float32";
  const drawn = tf.randomUniform(shapeOf(n) as Tensor, 0, 1, dtype, seedOf(n));
  return to(tf.less(drawn, to(x, dtype)), dtypeOf(n, n.dtype(0)));
}

function multinomial(n: NodeCall): Tensor {
  const count = n.attributes.int("sample_size", 1);
  const drawn = tf.multinomial(to(n.x(0), "float32"), count, seedOf(n));
  return to(drawn, dtypeOf(n, "int32"));
}

export const RANDOM: readonly OpEntry[] = [
  op("Bernoulli", 15, bernoulli, { folds: false }),
  op("Multinomial", 7, multinomial, { folds: false }),
  op("RandomNormal", 1, ofShape(normal), { folds: false }),
  op("RandomNormalLike", 1, ofInput(normal), { folds: false }),
  op("RandomUniform", 1, ofShape(uniform), { folds: false }),
  op("RandomUniformLike", 1, ofInput(uniform), { folds: false }),
];
