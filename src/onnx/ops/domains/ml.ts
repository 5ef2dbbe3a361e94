/** Ops of ai.onnx.ml that prepare features and of linear models; trees, kernels and maps are refused. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, refusals } from "../../build/rule.ts";
import { like, to } from "../raw.ts";
import * as tf from "../../build/tf.ts";

const domain = "ai.onnx.ml";

/** Returns floats of an attribute as float32: one for all columns, or one for each. */
function numbers(n: NodeCall, name: string, otherwise: number): Tensor {
  return tf.tensor1d([...n.attributes.floats(name) ?? [otherwise]], "float32");
}

function scaler(n: NodeCall): Tensor {
  return tf.mul(tf.sub(to(n.x(0), "float32"), numbers(n, "offset", 0)), numbers(n, "scale", 1));
}

/** Takes columns of the last axis. */
function extractFeatures(n: NodeCall): Tensor {
  const x = n.rank(0) === 1 ? tf.expandDims(n.x(0), 0) : n.x(0);
  return tf.gather(x, tf.reshape(n.index(1), [-1]), -1);
}

function binarizer(n: NodeCall): Tensor {
  const x = n.x(0);
  return to(tf.greater(x, like(x, n.attributes.float("threshold", 0))), x.dtype);
}

/** Replaces a value, which may be NaN, by others. */
function imputer(n: NodeCall): Tensor {
  const x = n.x(0), isFloat = x.dtype === "float32", { attributes } = n;
  const kind = isFloat ? "float" : "int64";
  const given = isFloat
    ? attributes.floats("imputed_value_floats")
    : attributes.ints("imputed_value_int64s");
  const values = given ?? n.fail(`it has no imputed_value_${kind}s`);
  const old = isFloat
    ? attributes.float("replaced_value_float", 0)
    : attributes.int("replaced_value_int64", 0);
  const isOld = Number.isNaN(old) ? tf.isNaN(x) : tf.equal(x, like(x, old));
  return tf.where(isOld, to(tf.tensor1d([...values], isFloat ? "float32" : "int32"), x.dtype), x);
}

/** Divides rows by their maximum, the sum of their sizes, or their length. */
function normalizer(n: NodeCall): Tensor {
  const x = to(n.x(0), "float32"), norm = n.attributes.text("norm", "MAX");
  const by = norm === "MAX"
    ? tf.max(x, -1, true)
    : norm === "L1"
    ? tf.sum(tf.abs(x), -1, true)
    : norm === "L2"
    ? tf.sqrt(tf.sum(tf.square(x), -1, true))
    : n.fail(`its norm is "${norm}"`);
  return tf.where(tf.equal(by, 0), x, tf.div(x, by));
}

function linearRegressor(n: NodeCall): Tensor {
  const { attributes } = n, targets = attributes.int("targets", 1);
  const transform = attributes.text("post_transform", "NONE");
  if (transform !== "NONE") n.lacks(`the transformation "${transform}"`);
  const weights = tf.reshape(numbers(n, "coefficients", 0), [targets, -1]);
  const y = tf.matMul(to(n.x(0), "float32"), weights, false, true);
  return attributes.has("intercepts") ? tf.add(y, numbers(n, "intercepts", 0)) : y;
}

/** Refusals by their reasons. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "trees are not supported": ["TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"],
  "support vectors are not supported": ["SVMClassifier", "SVMRegressor"],
  "there are no maps": ["CastMap", "DictVectorizer", "ZipMap"],
};

/** Features, linear models, refusals. */
export const ML: readonly OpEntry[] = [
  op("ArrayFeatureExtractor", 1, extractFeatures, { domain }),
  op("Binarizer", 1, binarizer, { domain }),
  op("FeatureVectorizer", 1, (n) => tf.concat(n.xs.map((x) => to(x, "float32")), 1), { domain }),
  op("Imputer", 1, imputer, { domain }),
  op("LinearRegressor", 1, linearRegressor, { domain }),
  op("Normalizer", 1, normalizer, { domain }),
  op("Scaler", 1, scaler, { domain }),
  ...refusals(REFUSED, domain),
];
