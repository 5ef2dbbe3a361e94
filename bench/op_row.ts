// Rows that are one expression over random inputs: written once for the TensorFlow-like systems, once for jax-js and once
// for onnxruntime-web.

import type { Tensor } from "@tensorflow/tfjs-core";
import type { JaxArray, JaxPeer } from "./peers/jax.ts";
import type { OnnxExpression, OnnxPeer } from "./peers/onnx.ts";
import { type Tf, type TfjsPeer, tfOutput } from "./peers/tfjs.ts";
import { type Weft, weftOutput, type WeftPeer } from "./peers/weft.ts";
import { normals, sizeOf } from "./random.ts";
import type { Case, Row, Sample } from "./row.ts";

/** The host values of a row's inputs, in order. */
export type Values = readonly Float32Array<ArrayBuffer>[];

/** An input of a row, with the shape it is given in. */
interface Shaped {
  readonly values: Float32Array<ArrayBuffer>;
  readonly shape: readonly number[];
}

/** The way into another layout and back. */
export interface ChannelsFirst {
  inputs(values: Values): readonly Shaped[];
  result(result: ArrayLike<number>): ArrayLike<number>;
}

/** The definition of an expression row. */
export interface OpRow extends Pick<Row, "id" | "what" | "flop" | "bytes" | "devices" | "heavy"> {
  /** Shapes of the inputs. */
  readonly inputs: readonly (readonly number[])[];
  /** Standard deviation of the inputs' values; 1 where absent. */
  readonly deviation?: number;
  /** The inputs' values, where they are not all random. */
  makeInputs?(): Values;
  /** The expression, for TensorFlow.js and for Weft. */
  tf(tf: Tf, ...inputs: Tensor[]): Tensor;
  /** Weft's expression, where it has an op that TensorFlow.js lacks. */
  weft?(tf: Weft, ...inputs: Tensor[]): Tensor;
  /** The expression for jax-js, compiled with `jit`; absent where it cannot be written. */
  jax?(jax: JaxPeer["jax"], ...inputs: JaxArray[]): JaxArray;
  /** The expression for onnxruntime-web, compiled into a session; absent where it cannot be written. */
  readonly onnx?: OnnxExpression;
  /** Which inputs a model would hold as its weights: onnxruntime-web may rearrange them beforehand. */
  readonly weights?: readonly number[];
  /** Images and filters for jax-js and onnxruntime-web; absent if they are the same as the others'. */
  readonly channelsFirst?: ChannelsFirst;
  /** Some values of the result in float64. */
  expected(inputs: Values): readonly Sample[];
  readonly tolerance?: number;
}

/** Turns an expression into a row. */
export function opRow(op: OpRow): Row {
  const { id, what, inputs: shapes, deviation, tolerance } = op;
  let cached: Values | null = null;
  function hostValues(): Values {
    cached ??= op.makeInputs?.() ??
      shapes.map((shape, i) => normals(sizeOf(shape), i + 1, deviation));
    return cached;
  }

  function tensorsOf(tf: Tf): Tensor[] {
    return hostValues().map((values, i) => tf.tensor(values, [...shapes[i]!]));
  }

  /** Returns the inputs of a compiled expression, in its layout. */
  function compiledInputs(): readonly Shaped[] {
    return op.channelsFirst?.inputs(hostValues()) ??
      hostValues().map((values, i) => ({ values, shape: shapes[i]! }));
  }

  const weftExpression = op.weft ?? op.tf;

  function weft({ tf }: WeftPeer): Case {
    const inputs = tensorsOf(tf);
    return {
      call: () => weftOutput(tf, tf.tidy(() => weftExpression(tf, ...inputs))),
      dispose: () => tf.dispose(inputs),
    };
  }

  function weftFunction({ tf }: WeftPeer): Case {
    const inputs = tensorsOf(tf);
    const traced = tf.function((...args: Tensor[]) => weftExpression(tf, ...args));
    return {
      call: () => weftOutput(tf, traced(...inputs)),
      dispose: () => tf.dispose(inputs),
    };
  }

  function tfjs({ tf }: TfjsPeer): Case {
    const inputs = tensorsOf(tf);
    return {
      call: () => tfOutput(tf.tidy(() => op.tf(tf, ...inputs))),
      dispose: () => tf.dispose(inputs),
    };
  }

  function jax(expression: NonNullable<OpRow["jax"]>): NonNullable<Row["jax"]> {
    return (peer) => {
      const inputs = compiledInputs().map(({ values, shape }) => peer.array(values, shape));
      const compiled = peer.jax.jit((...args: JaxArray[]) => expression(peer.jax, ...args));
      async function result(): Promise<ArrayLike<number>> {
        const output = await peer.start(compiled(...inputs.map((input) => input.ref)));
        const data = await output.data();
        output.dispose();
        return op.channelsFirst?.result(data) ?? data;
      }
      return {
        call: () => peer.start(compiled(...inputs.map((input) => input.ref))),
        result,
        dispose: () => inputs.forEach((input) => input.dispose()),
      };
    };
  }

  function onnx(expression: OnnxExpression): NonNullable<Row["onnx"]> {
    return async (peer: OnnxPeer) => {
      const inputs = compiledInputs()
        .map((input, i) => ({ ...input, isWeight: op.weights?.includes(i) ?? false }));
      const compiled = await peer.compile(inputs, expression);
      async function result(): Promise<ArrayLike<number>> {
        const data = await (await compiled.call()).data();
        return op.channelsFirst?.result(data) ?? data;
      }
      return { ...compiled, result };
    };
  }

  const optional = Object.fromEntries(
    (["flop", "bytes", "devices", "heavy"] as const)
      .filter((key) => op[key] !== undefined)
      .map((key) => [key, op[key]]),
  );
  return {
    ...optional,
    id,
    what,
    weft,
    weftFunction,
    tfjs,
    ...(op.jax && { jax: jax(op.jax) }),
    ...(op.onnx && { onnx: onnx(op.onnx) }),
    check: {
      expected: () => op.expected(hostValues()),
      ...(tolerance !== undefined && { tolerance }),
    },
  };
}
