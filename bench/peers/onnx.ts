// onnxruntime-web as a peer, on the CPU: its WASM execution provider in this thread, not behind its proxy worker.

import type { Case, Output } from "../row.ts";
import { threadsText } from "../threads.ts";
import { OnnxGraph, type OnnxValue } from "./onnx_model.ts";
import type { Peer } from "./peer.ts";

/**
 * Computed, and of no import map, so that neither type-checking nor the tests fetch its 140 MB. Deno takes the entry point
 * made for Node: the browser's starts threads from blob URLs, which modules of npm packages cannot import.
 */
const PACKAGE = "npm:onnxruntime-web@1.30.0";

/** A tensor in JavaScript's memory. */
interface OnnxTensor {
  readonly data: Float32Array;
}

interface OnnxSession {
  readonly outputNames: readonly string[];
  run(feeds: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>;
  release(): Promise<void>;
}

/** The used part of the package. */
interface Onnx {
  readonly env: {
    readonly versions: { readonly web?: string };
    readonly wasm: { numThreads?: number };
  };
  readonly InferenceSession: { create(model: Uint8Array): Promise<OnnxSession> };
  readonly Tensor: new (
    type: "float32",
    data: Float32Array,
    shape: readonly number[],
  ) => OnnxTensor;
}

/** An input of a model: fed at every call, or a weight that the model holds. */
export interface OnnxInput {
  readonly values: Float32Array<ArrayBuffer>;
  readonly shape: readonly number[];
  readonly isWeight?: boolean;
}

/** The computation of a model. */
export type OnnxExpression = (graph: OnnxGraph, ...inputs: OnnxValue[]) => OnnxValue;

/** onnxruntime-web. */
export interface OnnxPeer extends Peer {
  /**
   * Compiles an expression into a session. Inputs and the result lie in JavaScript's memory: the runtime copies them to
   * its own and back at every call.
   */
  compile(inputs: readonly OnnxInput[], expression: OnnxExpression): Promise<Case>;
}

/** Its threads spin for about 50 ms after a run: longer than a sample of the system whose processors they would take. */
const SPIN_MS = 80;

/** Sets onnxruntime-web up with as many threads as there are processors. */
export async function createOnnxPeer(): Promise<OnnxPeer> {
  // Its loader leaves Node's workers in the global place of the web's, where other systems look for theirs.
  const { Worker } = globalThis;
  const ort: Onnx = await import(PACKAGE);
  ort.env.wasm.numThreads = navigator.hardwareConcurrency;

  async function compile(
    inputs: readonly OnnxInput[],
    expression: OnnxExpression,
  ): Promise<Case> {
    const graph = new OnnxGraph();
    const values = inputs.map(({ values, shape, isWeight }) =>
      isWeight ? graph.constant(values, shape) : graph.input(shape)
    );
    const session = await ort.InferenceSession.create(graph.encode(expression(graph, ...values)));
    const feeds = Object.fromEntries(
      inputs.flatMap(({ values: data, shape, isWeight }, i) =>
        isWeight ? [] : [[values[i]!.name, new ort.Tensor("float32", data, shape)]]
      ),
    );
    const [name] = session.outputNames;
    return {
      async call(): Promise<Output> {
        const { data } = (await session.run(feeds))[name!]!;
        return { data: () => Promise.resolve(data), dispose() {} };
      },
      dispose: () => void session.release(),
    };
  }

  // The first session starts the runtime.
  const first = await compile(
    [{ values: new Float32Array(1), shape: [1] }],
    (graph, x) => graph.op("Neg", [x!]),
  );
  await first.call();
  first.dispose?.();
  globalThis.Worker = Worker;
  const hasWorkers = ort.env.wasm.numThreads > 1;
  return {
    name: "onnxruntime-web",
    version: ort.env.versions.web ?? "",
    device: "cpu",
    engine: `wasm SIMD, ${threadsText(ort.env.wasm.numThreads)}`,
    finish: () => Promise.resolve(),
    ...(hasWorkers && { settle: () => new Promise((resolve) => setTimeout(resolve, SPIN_MS)) }),
    compile,
  };
}
