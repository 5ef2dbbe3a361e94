/**
 * Random numbers: ONNX's ops draw anew at each run by a generator of the runtime's, so that a seed gives other numbers
 * than here.
 */
import { filled } from "../helpers.ts";
import type { NodeWriter } from "../node_writer.ts";
import { intsOf, type Ref } from "../ref.ts";
import type { WriteRule, WriteRules } from "../rule.ts";

function draw(n: NodeWriter, op: "RandomUniform" | "RandomNormal"): Ref {
  const [shape] = n.xs,
    known = intsOf(shape),
    seed = Number(n.attrs.seed ?? 0) + Number(n.attrs.seed2 ?? 0);
  const own = n.dtype === "float64" ? "float64" : "float32";
  const attributes = { dtype: own === "float64" ? 11n : 1n, ...(seed !== 0 && { seed }) };
  const drawn = known !== null && known.length > 0
    ? n.raw(op, [], { ...attributes, shape: known.map(BigInt) }, [{ dtype: own, shape: known }])[0]
    : n.raw(`${op}Like`, [filled(n, n.wide(shape), 0, own)], attributes, [{ dtype: own }])[0];
  return n.cast(drawn, n.dtype);
}

const uniform: WriteRule = (n) => draw(n, "RandomUniform");

function uniformInt(n: NodeWriter): Ref {
  const [shape, low, high] = n.xs, known = intsOf(shape);
  const drawn = known !== null && known.length > 0
    ? n.raw("RandomUniform", [], { dtype: 1n, shape: known.map(BigInt) }, [{ dtype: "float32" }])[0]
    : n.raw("RandomUniformLike", [filled(n, n.wide(shape), 0, "float32")], {}, [{
      dtype: "float32",
    }])[0];
  const span = n.cast(n.node("Sub", [high, low]), "float32");
  const scaled = n.node("Floor", [n.node("Mul", [drawn, span])]);
  const most = n.node("Min", [scaled, n.node("Sub", [span, n.scalar(1, "float32")])]);
  return n.node("Add", [n.cast(most, n.dtype), low]);
}

const STATELESS = "its numbers follow from its seed by a generator that ONNX has not";

export const RANDOM: WriteRules = {
  RandomStandardNormal: (n) => draw(n, "RandomNormal"),
  RandomUniform: uniform,
  RandomUniformInt: uniformInt,
  TruncatedNormal: "ONNX has no truncated normal distribution",
  Multinomial: (n) => {
    const [logits, count] = n.xs, samples = intsOf(count);
    if (samples === null) return n.lacks("the number of samples is not a constant");
    const drawn =
      n.raw("Multinomial", [n.node("LogSoftmax", [n.cast(logits, "float32")], { axis: -1n })], {
        sample_size: BigInt(samples[0]),
        dtype: 7n,
      }, [{ dtype: "int64" }])[0];
    return n.narrow(drawn, n.dtype);
  },
  ...Object.fromEntries(
    "Uniform Normal TruncatedNormal".split(" ").map((kind) => [
      kind === "TruncatedNormal" ? "StatelessTruncatedNormal" : `StatelessRandom${kind}`,
      STATELESS,
    ]),
  ),
  StatelessMultinomial: STATELESS,
  StatelessRandomUniformInt: STATELESS,
  StatelessRandomUniformFullInt: STATELESS,
};
