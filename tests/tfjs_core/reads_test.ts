/** Reads and scopes as TensorFlow.js 4.22 has them; what is wanted was read from it, on its CPU backend. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.
import * as tf from "@weft/weft/tfjs-core";
import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";

const READS: Record<string, readonly [() => tf.Tensor, unknown]> = {
  "bool": [() => tf.tensor2d([[true, false]], [1, 2], "bool"), [[1, 0]]],
  "a bool scalar": [() => tf.scalar(true), 1],
  "a comparison": [() => tf.less([1, 2], [2, 1]), [1, 0]],
  "complex": [() => tf.complex([1, 2], [3, 4]), [1, 3, 2, 4]],
  "complex in two axes": [() => tf.complex([[1, 2]], [[3, 4]]), [[1, 3, 2, 4]]],
  "complex in three axes": [() => tf.complex([[[1], [2]]], [[[3], [4]]]), [[[1, 3], [2, 4]]]],
  "a complex scalar": [() => tf.complex(1, 2), 1],
  "empty complex": [() => tf.complex(tf.zeros([0]), tf.zeros([0])), []],
  "whole numbers": [() => tf.tensor([1, 2], [2], "int32"), [1, 2]],
  "strings": [() => tf.tensor(["a", "b"]), ["a", "b"]],
};

for (const [name, [make, wanted]] of Object.entries(READS)) {
  testOnDevices(`array() and arraySync() give what TensorFlow.js gives: ${name}`, async () => {
    const x = make();
    assertEquals<unknown>([x.arraySync(), await x.array()], [wanted, wanted]);
  });
}

testOnDevices("a tensor beside a text with + is a text, as TensorFlow.js prints it", () => {
  const x = tf.tensor([1, 2]) as unknown as string;
  assertEquals("loss " + x, "loss Tensor\n    [1, 2]");
});

testOnDevices(
  "tidy() of an async function tells the console, returns the promise and ends",
  async () => {
    using told = stub(console, "error");
    const x = tf.tensor([1]), before = tf.memory().numTensors;
    let made: tf.Tensor | undefined;
    const promise: Promise<number> = tf.tidy(
      (() => {
        made = tf.add(x, 1);
        return (async () => (await null, 7))();
      }) as never,
    );
    assertEquals(made!.isDisposed, true);
    assertEquals([await promise, tf.memory().numTensors], [7, before]);
    assertEquals(told.calls.map(({ args }) => args), [["Cannot return a Promise inside of tidy."]]);
    assertEquals(
      await (tf.engine().tidy((() => Promise.resolve(1)) as never) as Promise<number>),
      1,
    );
  },
);
