/** Loops that step an environment: a policy on the device, a simulator on the host, and what travels between them. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const STEPS = 20;

/** A point that is pushed left or right. It is done beyond 0.45. */
function moved(state: readonly number[], action: number): number[] {
  const speed = state[1]! + (action === 1 ? 0.01 : -0.01);
  return [state[0]! + speed, speed];
}
const isDone = ([at]: readonly number[]): boolean => Math.abs(at!) > 0.45;

const step = (state: tf.NdArray, action: tf.NdArray): [number[], number, boolean] => {
  const next = moved([...state.data as Float32Array], Number(action.item()));
  return [next, 1, isDone(next)];
};
const Tout = [
  tf.TensorSpec([2], "float32"),
  tf.TensorSpec([], "float32"),
  tf.TensorSpec([], "bool"),
] as const;

/** One more than the states say: the policy pushes to the right. */
const logits = (state: tf.Tensor): tf.Tensor =>
  tf.matMul(tf.reshape(tf.add(state, 5), [1, 2]), tf.tensor([[-9, 9], [0, 0]]));

type Act = (logits: tf.Tensor) => tf.Tensor;
const ACTS: Readonly<Record<string, Act>> = {
  "the largest logit": (l) => tf.reshape(tf.argMax(l, 1), []),
  "a drawn action": (l) => tf.reshape(tf.random.categorical(l, 1), []),
  "an action that explores": (l) =>
    tf.where(
      tf.less(tf.random.uniform([]), 0),
      tf.random.uniform([], 0, 2, "int32"),
      tf.cast(tf.reshape(tf.argMax(l, 1), []), "int32"),
    ),
};

/** An episode: how many steps it had, the last state, the sum of rewards. */
function episode(act: Act): (first: tf.Tensor) => tf.Tensor[] {
  return (first) => {
    const [n, last, , total] = tf.whileLoop(
      (i, _state, done) => tf.logicalAnd(tf.less(i, STEPS), tf.logicalNot(done)),
      (i, state, _done, total) => {
        const [next, reward, done] = tf.numpyFunction(step, [state, act(logits(state))], Tout);
        return [tf.add(i, 1), next, done, tf.add(total, reward)];
      },
      [tf.scalar(0, "int32"), first, tf.scalar(false), tf.scalar(0)],
    );
    return [n, last, total];
  };
}

for (const [what, act] of Object.entries(ACTS)) {
  testOnDevices(`a loop that steps an environment reads ${what} once a step`, async (device) => {
    using first = tf.tensor([0, 0]);
    const run = tf.function(episode(act));
    const results: number[][] = [];
    const once = () => {
      const outputs = run(first) as tf.Tensor[];
      results.push(outputs.map((t) => Number(t.dataSync()[0])));
      tf.dispose(outputs);
    };
    once();
    const counts = await tf.profile(once);
    // 0.01 + 0.02 + … beyond 0.45 after nine steps, a tenth where the sum is not quite.
    const [[n, at, total]] = results as [number[]];
    assertEquals(results[1], results[0]);
    assertEquals([n === total, at! > 0.45, n! <= 10], [true, true, true]);
    const { readbacks, submits, bytesToHost, hostCalls } = counts;
    // One for the action of each step, and one for the sum of rewards: all else the host has made or written.
    const reads = device === "cpu" ? 0 : n! + 1;
    assertEquals({ hostCalls, readbacks, submits }, {
      hostCalls: n,
      readbacks: reads,
      submits: reads,
    });
    assertEquals(bytesToHost <= (device === "cpu" ? 0 : n! * 8 + 32), true, String(bytesToHost));
  });
}

testOnDevices(
  "an environment that keeps its state itself is sent actions alone",
  async (device) => {
    let state = [0, 0];
    const push = (action: tf.NdArray) => {
      state = moved(state, Number(action.item()));
      return [state, 1, isDone(state)];
    };
    const run = tf.function((first: tf.Tensor) =>
      tf.whileLoop(
        (i, _state, done) => tf.logicalAnd(tf.less(i, STEPS), tf.logicalNot(done)),
        (i, state) => {
          const action = tf.cast(tf.reshape(tf.argMax(logits(state), 1), []), "int32");
          const [next, , done] = tf.numpyFunction(push, [action], Tout);
          return [tf.add(i, 1), next, done];
        },
        [tf.scalar(0, "int32"), first, tf.scalar(false)],
      )[0]
    );
    using first = tf.tensor([0, 0]);
    for (const _ of [0, 1]) {
      state = [0, 0];
      let n = 0;
      const { readbacks, submits, bytesToHost } = await tf.profile(() => {
        using steps = run(first) as tf.Tensor;
        n = steps.item();
      });
      const want = device === "cpu" ? 0 : n;
      assertEquals({ readbacks, submits, bytesToHost }, {
        readbacks: want,
        submits: want,
        bytesToHost: 4 * want,
      });
    }
  },
);

testOnDevices(
  "an environment of tensors is read for its action and whether it is done",
  async (device) => {
    const step = (state: tf.Tensor, action: tf.Tensor) => {
      const next = moved(state.arraySync() as number[], Number(action.item()));
      return [tf.tensor(next), tf.scalar(isDone(next))];
    };
    const run = tf.function((first: tf.Tensor) =>
      tf.whileLoop(
        (_state, done) => tf.logicalNot(done),
        (state) => {
          const action = tf.reshape(tf.argMax(logits(state), 1), []);
          return tf.pyFunction(step, [state, action], [Tout[0], Tout[2]] as const);
        },
        [first, tf.scalar(false)],
      )[0]
    );
    using first = tf.tensor([0, 0]);
    for (const _ of [0, 1]) {
      let calls = 0;
      const { readbacks, hostCalls } = await tf.profile(() => {
        using state = run(first) as tf.Tensor;
        calls = Math.round(Number(state.dataSync()[1]) * 100);
      });
      // The state that the body made is known; of what the GPU made, the action and the condition are read, and that once more.
      const want = device === "cpu" ? 0 : 2 * calls + 1;
      assertEquals({ hostCalls, readbacks }, { hostCalls: calls, readbacks: want });
    }
  },
);
