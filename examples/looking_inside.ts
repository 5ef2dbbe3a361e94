/**
 * Looking inside compiled code: prints at each run, taps, checks that name the op and the line, counts of what the device did.
 *
 * `deno run examples/looking_inside.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

/** A step of Newton's method for the square root. It divides by its guess. */
const newton = (x: tf.Tensor, guess: tf.Tensor): tf.Tensor =>
  tf.mul(0.5, tf.add(guess, tf.div(x, guess)));

/** Four steps in a loop of the graph, with what `look` does to each guess. */
export function squareRoot(
  look: (guess: tf.Tensor) => tf.Tensor = (guess) => guess,
): (x: tf.Tensor, first: tf.Tensor) => tf.Tensor {
  return (x, first) =>
    tf.whileLoop(
      (i) => tf.less(i, 4),
      (i, guess) => [tf.add(i, 1), look(newton(x, guess))],
      [tf.scalar(0, "int32"), first],
    )[1];
}

async function main(): Promise<void> {
  await tf.ready();
  const x = tf.tensor([2, 9]), one = tf.tensor([1, 1]);

  console.log("tf.print writes whenever the graph runs, here at each turn of a loop:");
  const printing = tf.function(squareRoot((guess) => {
    tf.print("  guess", guess);
    return guess;
  }));
  printing(x, one);

  // A tap gives its value on, so gradients pass, and its function gets a copy.
  const seen: number[] = [];
  const tapped = tf.function(squareRoot((g) => tf.tap(g, (v) => void seen.push(Number(v.at(0))))));
  const slope = tf.grad((x: tf.Tensor) => tf.sum(tapped(x, one)));
  console.log("tf.tap saw", (slope(x), seen.map((v) => v.toFixed(3)).join(" ")));

  console.log("\nA check stays in the graph, and names what it checked:");
  const checked = tf.function(squareRoot((g) => tf.debugging.checkNumerics(g, "Newton's guess")));
  report(() => checked(x, tf.tensor([1, 0])));

  // Without a change to the code: whatever gives NaN or infinity first is named, with the line that made it.
  tf.debugging.enableCheckNumerics();
  const plain = tf.function(squareRoot());
  report(() => plain(x, tf.tensor([1, 0])));
  tf.debugging.disableCheckNumerics();

  console.log("\nWhat is expected can be said where it is expected:");
  const positive = tf.function((x: tf.Tensor) => {
    tf.debugging.assertPositive(x, { message: "A root wants positive numbers" });
    return tf.sqrt(x);
  });
  report(() => positive(tf.tensor([4, -1])));

  console.log("\nWhat a call does:");
  const calls = tf.function((x: tf.Tensor) =>
    tf.mul(tf.numpyFunction((v: tf.NdArray) => v, [tf.exp(x)], tf.TensorSpec(x.shape, x.dtype)), 2)
  );
  calls(x);
  const { hostCalls } = await tf.profile(() => calls(x));
  console.log(`  tf.profile: ${hostCalls} call of the host`);
  const { trace } = await tf.trace(() => calls(x));
  const [script] = trace.traceEvents.filter((e) => e.cat === "script");
  console.log(`  tf.trace: a timeline for Chrome, with "${script.name}" in it`);
}

/** Shows how a call fails: the first line of the error, and what it says of the op or the line. */
function report(call: () => unknown): void {
  try {
    call();
    throw new Error("Expected an error");
  } catch (error) {
    if (!(error instanceof tf.errors.OpError)) throw error;
    const lines = error.message.split("\n");
    const place = lines.find((line) => line.includes("looking_inside.ts"))?.trim();
    console.log(`  ${error.name}: ${lines[0]}`);
    if (place) console.log(`    ${place.replace(/\(?[a-z]+:\/\/.*\/(.*\d)\)?/, "$1")}`);
  }
}

if (import.meta.main) await main();
