/** Mistakes in pipelines, and what they are told. */
import * as tf from "@weft/weft";
import { assertThrows } from "@std/assert";

// deno-lint-ignore no-explicit-any -- programs without types make these.
type Untyped = any;
const range = tf.data.range(2) as Untyped;
const same = (x: Untyped): Untyped => x;

const MISTAKES: Readonly<Record<string, readonly [() => unknown, new () => Error, string]>> = {
  "worker for workers": [
    () => range.map(same, { worker: true, numParallelCalls: 2 }),
    TypeError as Untyped,
    'did you mean "workers"?',
  ],
  "Tout without workers": [
    () => range.map(same, { Tout: "int32" }),
    tf.ValueError as Untyped,
    "Tout is for functions of arrays that run in workers, pass workers: true beside it",
  ],
  "csv without columns": [
    () => (tf.data.csv as Untyped)("table.csv", {}),
    TypeError as Untyped,
    "columns must say what is read",
  ],
};

for (const [what, [make, Class, message]] of Object.entries(MISTAKES)) {
  Deno.test(`${what} is an error that leads on`, () => {
    assertThrows(make, Class as Untyped, message);
  });
}
