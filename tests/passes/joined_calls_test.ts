/** Which stateless calls of scripts become one: those of one function object with the same inputs and options. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type Body = (x: tf.NdArray) => tf.NdArray;
type Call = (body: Body, x: tf.Tensor) => tf.Tensor;
const shape = (x: { readonly shape: tf.PartialShape }): tf.PartialShape => x.shape;
const call = (
  options: {
    readonly timeoutMs?: number;
    readonly shapeFn?: typeof shape;
    readonly name?: string;
    readonly stateful?: boolean;
  },
): Call =>
(body, x) => tf.numpyFunction(body, [x], "float32", { stateful: false, ...options }) as tf.Tensor;
const plain = call({});

/** Two calls, and how many of them happen. */
const PAIRS: Record<string, readonly [Call, Call, number]> = {
  "equal ones": [plain, plain, 1],
  "those of another function of TensorFlow": [
    plain,
    (body, x) => tf.pyFunc(body, [x], "float32", false) as tf.Tensor,
    1,
  ],
  "equal options": [call({ timeoutMs: 5000 }), call({ timeoutMs: 5000 }), 1],
  "the same shape function": [call({ shapeFn: shape }), call({ shapeFn: shape }), 1],
  "other names": [call({ name: "a" }), call({ name: "b" }), 1],
  "another time limit": [call({ timeoutMs: 5000 }), plain, 2],
  "another shape function": [
    call({ shapeFn: (x) => x.shape }),
    call({ shapeFn: (x) => x.shape }),
    2,
  ],
  "another input": [plain, (body, x) => plain(body, tf.add(x, 1)), 2],
  "another function object": [plain, (body, x) => plain((y) => body(y), x), 2],
  "stateful ones": [call({ stateful: true }), call({ stateful: true }), 2],
};

for (const [name, [first, second, wanted]] of Object.entries(PAIRS)) {
  testOnDevices(`stateless calls are joined by function object: ${name}`, async () => {
    let calls = 0;
    const body: Body = (x) => (calls++, x);
    const counted = async (run: () => unknown): Promise<number> => {
      calls = 0;
      await run();
      return calls;
    };
    const both = (x: tf.Tensor): tf.Tensor => tf.add(first(body, x), second(body, x));
    const graph = new tf.Graph();
    const [fed, constant] = graph.asDefault(() => [
      both(tf.placeholder("float32", [1], "x")),
      both(tf.constant([1])),
    ]);
    await using session = new tf.Session({ graph });
    const f = tf.function(both);
    const feeds = { "x:0": [1] };
    const x = tf.tensor([1]);
    assertEquals(
      [
        await counted(() => session.run(fed, { feeds })),
        await counted(() => session.run(constant)),
        await counted(() => f(x)),
        // Eager code calls at once.
        await counted(() => both(x)),
      ],
      [wanted, wanted, wanted, 2],
    );
  });
}
