// What a small op costs: one addition read back, and a chain of them, where overhead is all there is.

import type { Tensor } from "@tensorflow/tfjs-core";
import type { JaxArray, JaxPeer } from "../peers/jax.ts";
import type { OnnxInput, OnnxPeer } from "../peers/onnx.ts";
import { type Tf, type TfjsPeer, tfOutput } from "../peers/tfjs.ts";
import { weftOutput, type WeftPeer } from "../peers/weft.ts";
import { normals, spread } from "../random.ts";
import type { Case, Output, Row } from "../row.ts";

const SIZE = 1000;

/** Elements that no system keeps on the host. */
const LARGE = 1 << 16;

const CHAIN_LENGTH = 400;

/** An output whose value is on the host already. One object and no closures: what is timed is small. */
class HostOutput implements Output {
  readonly #values: ArrayLike<number>;
  constructor(values: ArrayLike<number>) {
    this.#values = values;
  }
  data(): Promise<ArrayLike<number>> {
    return Promise.resolve(this.#values);
  }
  dispose(): void {}
}

function inputs(size: number): Float32Array<ArrayBuffer>[] {
  return [normals(size, 1), normals(size, 2)];
}

/** Tensors in the device's memory. TensorFlow.js leaves small ones on the host, and works on them there. */
function deviceTensors(tf: Tf, size: number): Tensor[] {
  const shape = size === 1 ? [] : [size];
  return tf.tidy(() =>
    inputs(size).map((values) => {
      const large = tf.concat([tf.tensor1d(values), tf.zeros([LARGE])]);
      return tf.reshape(tf.slice(tf.neg(tf.neg(large)), [0], [size]), shape);
    })
  );
}

/** `add` of two inputs with the sum read back, for the TensorFlow-like systems. */
function readBackTf(tf: Tf, size: number): Case {
  const [a, b] = deviceTensors(tf, size);
  return {
    async call(): Promise<Output> {
      const sum = tf.add(a!, b!);
      const values = await sum.data();
      sum.dispose();
      return new HostOutput(values);
    },
    dispose: () => tf.dispose([a!, b!]),
  };
}

/** The same with a synchronous read, which only Weft has on every device. */
function readBackSync(tf: Tf, size: number): Case {
  const [a, b] = inputs(size).map((values) => tf.tensor(values, size === 1 ? [] : [size]));
  return {
    call(): Output {
      const sum = tf.add(a!, b!);
      const values = sum.dataSync();
      sum.dispose();
      return new HostOutput(values);
    },
    dispose: () => tf.dispose([a!, b!]),
  };
}

function readBackJax({ jax, array }: JaxPeer, size: number): Case {
  const [a, b] = inputs(size).map((values) => array(values, size === 1 ? [] : [size]));
  const add = jax.jit((x: JaxArray, y: JaxArray) => x.add(y));
  return {
    call: async () => new HostOutput(await add(a!.ref, b!.ref).data() as ArrayLike<number>),
    dispose: () => [a, b].forEach((x) => x!.dispose()),
  };
}

function onnxInputs(size: number): OnnxInput[] {
  return inputs(size).map((values) => ({ values, shape: size === 1 ? [] : [size] }));
}

function readBackRow(id: string, what: string, size: number): Row {
  return {
    id,
    what,
    readsBack: true,
    weft: ({ tf }) => readBackSync(tf, size),
    weftFunction({ tf }) {
      const [a, b] = inputs(size).map((values) => tf.tensor(values, size === 1 ? [] : [size]));
      const add = tf.function((x: Tensor, y: Tensor) => tf.add(x, y));
      return {
        call(): Output {
          const sum = add(a!, b!);
          const values = sum.dataSync();
          sum.dispose();
          return new HostOutput(values);
        },
        dispose: () => tf.dispose([a!, b!]),
      };
    },
    tfjs: ({ tf }) => readBackTf(tf, size),
    jax: (peer) => readBackJax(peer, size),
    onnx: (peer) => peer.compile(onnxInputs(size), (graph, a, b) => graph.op("Add", [a!, b!])),
    check: {
      expected() {
        const [a, b] = inputs(size);
        return spread(size).map((index) => ({ index, value: a![index]! + b![index]! }));
      },
    },
  };
}

function chainTf(tf: Tf, a: Tensor, b: Tensor): Tensor {
  let x = tf.add(a, b);
  for (let i = 1; i < CHAIN_LENGTH; i++) {
    const next = i % 2 === 0 ? tf.add(x, b) : tf.sub(x, b);
    x.dispose();
    x = next;
  }
  return x;
}

/** The chain as a traced function sees it: nothing to dispose. */
function chainTraced(tf: Tf, a: Tensor, b: Tensor): Tensor {
  let x = tf.add(a, b);
  for (let i = 1; i < CHAIN_LENGTH; i++) x = i % 2 === 0 ? tf.add(x, b) : tf.sub(x, b);
  return x;
}

function chainTensors(tf: Tf): [Tensor, Tensor] {
  const [a, b] = inputs(SIZE);
  return [tf.tensor(a!), tf.tensor(b!)];
}

const CHAIN_ROW: Row = {
  id: "chain_400",
  what:
    `${CHAIN_LENGTH} dependent small ops, ${SIZE} elements each (jax-js: without jit; onnxruntime-web: one graph)`,
  weft({ tf }: WeftPeer): Case {
    const [a, b] = chainTensors(tf);
    return { call: () => weftOutput(tf, chainTf(tf, a, b)), dispose: () => tf.dispose([a, b]) };
  },
  weftFunction({ tf }: WeftPeer): Case {
    const [a, b] = chainTensors(tf);
    const traced = tf.function((x: Tensor, y: Tensor) => chainTraced(tf, x, y));
    return { call: () => weftOutput(tf, traced(a, b)), dispose: () => tf.dispose([a, b]) };
  },
  tfjs({ tf }: TfjsPeer): Case {
    const [a, b] = chainTensors(tf);
    return { call: () => tfOutput(chainTf(tf, a, b)), dispose: () => tf.dispose([a, b]) };
  },
  jax(peer: JaxPeer): Case {
    const [a, b] = inputs(SIZE).map((values) => peer.array(values, [SIZE]));
    return {
      async call(): Promise<Output> {
        let x = a!.ref.add(b!.ref);
        for (let i = 1; i < CHAIN_LENGTH; i++) {
          x = i % 2 === 0 ? x.add(b!.ref) : x.sub(b!.ref);
          // Left alone, jax-js would fuse the chain into one expression; asking for each is what "small op" means.
          (await peer.start(x.ref)).dispose();
        }
        return await peer.start(x);
      },
      dispose: () => [a, b].forEach((x) => x!.dispose()),
    };
  },
  onnx: (peer: OnnxPeer) =>
    peer.compile(onnxInputs(SIZE), (graph, a, b) => {
      let x = graph.op("Add", [a!, b!]);
      for (let i = 1; i < CHAIN_LENGTH; i++) x = graph.op(i % 2 === 0 ? "Add" : "Sub", [x, b!]);
      return x;
    }),
  check: {
    expected() {
      const [a] = inputs(SIZE);
      // The chain adds b and takes it away in turn, an even number of times.
      return spread(SIZE).map((index) => ({ index, value: a![index]! }));
    },
  },
};

/** Rows of this file. */
export const LATENCY_ROWS: readonly Row[] = [
  readBackRow(
    "scalar_add_read",
    "add of scalars in the device's memory, read back (Weft: synchronously)",
    1,
  ),
  readBackRow("add_1000_read", "add of 1000 elements, read back (Weft: synchronously)", SIZE),
  CHAIN_ROW,
];
