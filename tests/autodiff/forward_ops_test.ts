/** Every op forward: the tangents of its results, weighed, are its gradient along the tangents. */

import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { isFloating } from "../../src/engine/core/dtype.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { dtypesOf } from "../../src/library/testing/op_case.ts";
import { drawValues, type OpSample } from "../../src/library/testing/op_sample.ts";
import { testOnDevices } from "../devices.ts";
import { ofTheDay, some } from "../effort.ts";
import { FAMILIES } from "../op_samples/mod.ts";

/** Numbers of both signs that differ from element to element. */
function numbersLike(x: tf.Tensor, step: number): tf.Tensor {
  const all = Array.from({ length: x.size }, (_, i) => Math.cos(1 + step * i));
  return tf.cast(tf.tensor(all, x.shape, "float32"), x.dtype);
}

const weighed = (xs: readonly tf.Tensor[], ws: readonly tf.Tensor[]): tf.Tensor =>
  tf.addN(xs.map((x, i) => tf.sum(tf.cast(tf.mul(x, ws[i]!), "float32"))));

/** The two numbers that should be equal; null where the op has no gradient there. */
function bothWays(name: string, sample: OpSample): readonly [number, number] | null {
  const def = lookupOp(name)!, dtype = dtypesOf(def, sample)[0]!;
  const given = sample.inputs.map((input, i) => {
    const x = input instanceof tf.NdArray ? input : drawValues(input, input.dtype ?? dtype, i + 1);
    return isFloating(x.dtype) ? tf.tensor(x) : x;
  });
  const sources = given.filter((x) => x instanceof tf.Tensor);
  if (sources.length === 0) return null;
  const f = (...xs: tf.Tensor[]): tf.Tensor[] => {
    const next = xs.values();
    const inputs = given.map((x) => isFloating(x.dtype) ? next.next().value! : x);
    return apply(def, inputs, sample.attrs ?? {}).filter((y) => isFloating(y.dtype));
  };
  const tangents = sources.map((x) => numbersLike(x, 0.7));
  using tape = new tf.GradientTape();
  tape.watch(sources);
  const results = f(...sources);
  // Of nothing there is no mean.
  if (results.length === 0 || sources.every(({ size }) => size === 0)) return null;
  const weights = results.map((y) => numbersLike(y, 1.3));
  const slopes = tape.gradient(weighed(results, weights), sources) as (tf.Tensor | null)[];
  if (slopes.every((s) => s === null)) return null;
  const back = weighed(
    slopes.map((s, i) => s === null ? tf.zerosLike(sources[i]!) : s),
    tangents,
  );
  const [, along] = tf.jvp(f, sources, tangents);
  return [weighed(along, weights).dataSync()[0]!, back.dataSync()[0]!];
}

for (const [family, table] of Object.entries(FAMILIES)) {
  testOnDevices(`ops have the tangents that their gradients say: ${family}`, () => {
    const found: string[] = [];
    for (const [name, samples] of ofTheDay(Object.entries(table), 3)) {
      if (lookupOp(name)!.stateful) continue;
      for (const [i, sample] of some(samples, 2).entries()) {
        tf.tidy(() => {
          let both: readonly [number, number] | null;
          try {
            both = bothWays(name, sample);
          } catch (e) {
            // A message, in place of a tangent of 0.
            const { LookupError, UnimplementedError } = tf.errors;
            if (!(e instanceof LookupError || e instanceof UnimplementedError)) {
              found.push(`${name} ${i}: ${String(e).split("\n")[0]}`);
            }
            return;
          }
          if (both === null) return;
          const [along, back] = both;
          const isNear = Object.is(along, back) ||
            Math.abs(along - back) <= 2e-3 * Math.max(1, Math.abs(back));
          if (!isNear) found.push(`${name} ${i}: ${along}, wanted ${back}`);
        });
      }
    }
    assertEquals(found, []);
  });
}
