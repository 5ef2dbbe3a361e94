// Attacks by what graphs say: loops without end, sessions that are left, datasets that cannot be read.

import * as tf from "@weft/weft";
import { grpcTransport } from "@weft/weft/distribute";
import { call } from "../../src/cluster/wire/rpc.ts";
import { DispatcherService } from "../../src/tensorflow/proto/data_service_pb.ts";
import type { GraphDefSchema } from "../../src/tensorflow/proto/graph_pb.ts";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Attack } from "./attack.ts";

type Graph = MessageInitShape<typeof GraphDefSchema>;

const address = (port: number): string => `grpc://127.0.0.1:${port}`;

function session(port: number, build: () => tf.Tensor): [tf.Session, tf.Tensor] {
  const graph = new tf.Graph(), y = graph.asDefault(build);
  return [new tf.Session({ graph, target: address(port) }), y];
}

const endless = (): tf.Tensor =>
  (tf.whileLoop(() => tf.constant(true), (i: tf.Tensor) => [tf.add(i, 1)], [
    tf.constant(0),
  ]) as tf.Tensor[])[0]!;

const nodes = (
  ...node: readonly (readonly [name: string, op: string, ...input: string[]])[]
): Graph => ({
  node: node.map(([name, op, ...input]) => ({ name, op, input })),
});
const UNREADABLE: readonly Graph[] = [
  nodes(["a", "MapDataset", "b"], ["b", "MapDataset", "a"], ["r", "_Retval", "a"]),
  nodes(["r", "_Retval", "nowhere"]),
  nodes(),
  nodes(["p", "Placeholder"], ["d", "TensorSliceDataset", "p"], ["r", "_Retval", "d"]),
  nodes(
    ["z0", "RangeDataset"],
    ...Array.from(
      { length: 40 },
      (_, i) => [`z${i + 1}`, "ZipDataset", `z${i}`, `z${i}`] as const,
    ),
    ["r", "_Retval", "z40"],
  ),
];

export const SESSIONS: Readonly<Record<string, Attack>> = {
  "an endless loop of a session": async ({ server }, signal) => {
    const [s, y] = session(server, endless);
    await s.run(y, { signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]) }).catch(
      () => {},
    );
    await s.close();
  },
  "an endless loop whose time is over": async ({ server }, signal) => {
    const [s, y] = session(server, endless);
    await s.run(y, { timeoutMs: 500, signal }).catch(() => {});
  },
  "sessions that are left open": async ({ server }) => {
    const [s, y] = session(server, () => tf.add(tf.randomNormal([1000]), 1));
    await s.run(y);
  },
};

export const DATASETS: Readonly<Record<string, Attack>> = {
  "datasets that cannot be read": async ({ dispatcher }) => {
    const channel = grpcTransport.connect(address(dispatcher)), m = DispatcherService.method;
    try {
      for (const graph of UNREADABLE) {
        try {
          const { datasetId } = await call(channel, m.getOrRegisterDataset, { dataset: { graph } });
          const processingModeDef = { shardingPolicy: 1 };
          const { jobId } = await call(channel, m.getOrCreateJob, { datasetId, processingModeDef });
          await call(channel, m.getOrCreateIteration, { jobId, repetition: 0n });
        } catch { /* As it should be. */ }
      }
    } finally {
      channel.close();
    }
  },
};
