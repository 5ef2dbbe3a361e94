/** The dispatcher's journal: what cannot be done is not in it, what a disk does not take did not happen, damaged lines end nothing. */

import fs from "node:fs";
import * as tf from "@weft/weft";
import { DataServiceDispatcher, MemoryTransport } from "@weft/weft/distribute";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { Journal } from "../../../src/cluster/data_service/journal.ts";
import { splitSources } from "../../../src/cluster/data_service/split_sources.ts";
import { call } from "../../../src/cluster/wire/rpc.ts";
import type { GraphDefJson, NodeDefJson } from "../../../src/engine/graph/graph_def_json.ts";
import { DispatcherService } from "../../../src/tensorflow/proto/data_service_pb.ts";
import { GraphDefSchema } from "../../../src/tensorflow/proto/graph_pb.ts";

const { InvalidArgumentError, UnimplementedError, FailedPreconditionError, ValueError } = tf.errors;

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const int64 = (name: string, value: number): NodeDefJson => ({
  name,
  op: "Const",
  attr: {
    dtype: { type: "DT_INT64" },
    value: { tensor: { dtype: "DT_INT64", tensorShape: {}, int64Val: [String(value)] } },
  },
});
const node = (name: string, op: string, ...input: string[]): NodeDefJson => ({
  name,
  op,
  input,
  attr: op === "ZipDataset" ? { N: { i: String(input.length) } } : {},
});
const range = (name: string, n: number, step = 1): NodeDefJson[] => [
  int64(`${name}0`, 0),
  int64(`${name}n`, n),
  int64(`${name}s`, step),
  node(name, "RangeDataset", `${name}0`, `${name}n`, `${name}s`),
];
const graph = (nodes: readonly NodeDefJson[], sink: string): GraphDefJson => ({
  node: [...nodes, node("r", "_Retval", sink)],
  versions: { producer: 1 },
});
const chain = (op: string, length: number, inputs: number): NodeDefJson[] =>
  Array.from({ length }, (_, i) => node(`c${i + 1}`, op, ...Array(inputs).fill(`c${i}`)));

/** Numbers of splits of the sources of a graph. */
function counts(nodes: readonly NodeDefJson[], sink: string): number[] {
  return splitSources(graph(nodes, sink)).map((split) => {
    let n = 0;
    while (split(n) !== null) n++;
    return n;
  });
}

Deno.test("splitSources() lists sources in the order of inputs, as often as they are read", () => {
  const a = range("a", 3), b = range("b", 5);
  const zip = node("z", "ZipDataset", "a", "b"), cat = node("k", "ConcatenateDataset", "b", "a");
  assertEquals(counts([...a, node("m", "MapDataset", "a", "^b")], "m:0"), [3]);
  assertEquals(counts([...a, ...b, zip, cat], "z"), [3, 5]);
  assertEquals(counts([...a, ...b, zip, cat], "k"), [5, 3]);
  assertEquals(counts([...a, ...b, zip, node("y", "ZipDataset", "z", "a", "z")], "y"), [
    3,
    5,
    3,
    3,
    5,
  ]);
  assertEquals(counts([node("c0", "Made"), ...chain("ZipDataset", 100, 2)], "c100"), []);
  const long = [...range("c0", 2), ...chain("MapDataset", 50_000, 1)];
  assertEquals(counts(long, "c50000"), [2]);
  assertEquals(counts([...range("c0", 2), ...chain("ZipDataset", 10, 2)], "c10").length, 1024);
});

Deno.test("splitSources() refuses cycles, doubled chains, and sources without a number", () => {
  const table: [NodeDefJson[], string, new (...args: never[]) => Error, string][] = [
    [
      [node("a", "MapDataset", "a")],
      "a",
      InvalidArgumentError,
      '"a" (MapDataset) depends on itself',
    ],
    [
      [node("a", "MapDataset", "b"), node("b", "MapDataset", "a")],
      "a",
      InvalidArgumentError,
      "depends on itself",
    ],
    [
      [...range("a", 1), node("b", "ZipDataset", "a", "c"), node("c", "ZipDataset", "a", "b")],
      "c",
      InvalidArgumentError,
      "depends on itself",
    ],
    [[], "nowhere", InvalidArgumentError, 'no node "nowhere"'],
    [[node("a", "MapDataset", "x")], "a", InvalidArgumentError, 'no node "x"'],
    [
      [...range("c0", 1), ...chain("ZipDataset", 64, 2)],
      "c64",
      InvalidArgumentError,
      "more than 4096 sources",
    ],
    [range("a", 3, 0), "a", InvalidArgumentError, "has Infinity of them"],
    [
      [node("p", "Placeholder"), node("a", "TensorSliceDataset", "p")],
      "a",
      UnimplementedError,
      '"p" (Placeholder)',
    ],
  ];
  for (const [nodes, sink, kind, text] of table) {
    assertThrows(() => splitSources(graph(nodes, sink)), kind, text);
  }
  assertThrows(() => splitSources({ node: [], versions: { producer: 1 } }), ValueError, "_Retval");
});

const m = DispatcherService.method;
const HOSTILE: Readonly<Record<string, MessageInitShape<typeof GraphDefSchema>>> = {
  "without a number": {
    node: [
      { name: "p", op: "Placeholder" },
      { name: "s", op: "TensorSliceDataset", input: ["p"] },
      { name: "r", op: "_Retval", input: ["s"] },
    ],
  },
  "that is a cycle": {
    node: [{ name: "a", op: "MapDataset", input: ["a"] }, {
      name: "r",
      op: "_Retval",
      input: ["a"],
    }],
  },
  "without nodes": { node: [] },
};

for (const [name, graph] of Object.entries(HOSTILE)) {
  Deno.test(`a dispatcher refuses to read a dataset ${name}, and starts again after that`, () =>
    inFolder(async (workDir) => {
      const transport = new MemoryTransport(), options = { transport, workDir, port: 5050 };
      const first = new DataServiceDispatcher(options);
      await first.start();
      const channel = transport.connect(first.target);
      const { datasetId } = await call(channel, m.getOrRegisterDataset, {
        dataset: { graph: create(GraphDefSchema, graph) },
      });
      const { jobId } = await call(channel, m.getOrCreateJob, {
        datasetId,
        processingModeDef: { shardingPolicy: 1 },
      });
      const journal = await Deno.readTextFile(`${workDir}/journal.jsonl`);
      for (let k = 0; k < 2; k++) {
        await assertRejects(() => call(channel, m.getOrCreateIteration, { jobId, repetition: 0n }));
      }
      assertEquals(await Deno.readTextFile(`${workDir}/journal.jsonl`), journal);
      await first.stop();
      const again = new DataServiceDispatcher(options);
      await again.start();
      const { datasetDef } = await call(channel, m.getDatasetDef, { datasetId });
      assertEquals(datasetDef!.graph!.node.length, (graph.node as unknown[]).length);
      await again.stop();
    }));
}

Deno.test("lines that cannot be applied are set aside with a warning, and the others count", () =>
  inFolder(async (workDir) => {
    const transport = new MemoryTransport(), options = { transport, workDir, port: 5050 };
    const first = new DataServiceDispatcher(options);
    await first.start();
    const channel = transport.connect(first.target);
    const register = async (name: string): Promise<string> =>
      (await call(channel, m.getOrRegisterDataset, {
        dataset: { graph: { node: [{ name, op: "NoOp" }] } },
      })).datasetId;
    const known = [await register("a"), await register("b")];
    await first.stop();
    const path = `${workDir}/journal.jsonl`;
    const [head, a, b] = (await Deno.readTextFile(path)).split("\n");
    const bad = ['{"is":"da', "null", '{"is":"iteration","id":9,"job":8}', '{"is":"new"}'];
    await Deno.writeTextFile(path, [head, bad[0], a, ...bad.slice(1), b, ""].join("\n"));
    using warn = stub(console, "warn", () => {});
    const again = new DataServiceDispatcher(options);
    await again.start();
    for (const datasetId of known) await call(channel, m.getDatasetDef, { datasetId });
    await again.stop();
    assertEquals(warn.calls.length, 1);
    assert(/4 lines are set aside in .*; line 2: /.test(warn.calls[0].args[0]));
    const aside = await Deno.readTextFile(`${workDir}/journal.aside.jsonl`);
    assertEquals(aside, bad.map((line) => `${line}\n`).join(""));
    const third = new DataServiceDispatcher(options);
    await third.start();
    await third.stop();
    assertEquals(warn.calls.length, 1, "the journal has only what counts now");
  }));

/** Makes writes fail after `room` bytes, as on a full disk. */
function fullAfter(room: number, { cuts = true } = {}) {
  const write = fs.writeSync as (...args: unknown[]) => number, left = { bytes: room };
  const full = (): never => {
    throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  };
  const written = stub(
    fs,
    "writeSync",
    ((file, data, at, length, position) => {
      const n = Math.min(length!, left.bytes);
      if (n === 0) full();
      left.bytes -= n;
      return write(file, data, at, n, position);
    }) as typeof fs.writeSync,
  );
  const cut = stub(fs, "ftruncateSync", cuts ? fs.ftruncateSync : full);
  const restore = (): void => {
    written.restore();
    cut.restore();
  };
  return { left, [Symbol.dispose]: restore };
}

for (const cuts of [true, false]) {
  const what = cuts ? "" : ", even where it cannot be cut back";
  Deno.test(`entries that a full disk does not take in whole are not in the journal${what}`, () =>
    inFolder((folder) => {
      const journal = new Journal<{ n: number }>(folder);
      journal.rewrite([]);
      const taken: number[] = [];
      {
        using disk = fullAfter(30, { cuts });
        for (let n = 0; n < 6; n++) {
          if (n === 4) disk.left.bytes = 1000;
          try {
            journal.append([{ n }, { n: n + 10 }]);
            taken.push(n, n + 10);
          } catch (error) {
            assert(error instanceof FailedPreconditionError);
          }
        }
      }
      journal.close();
      assertEquals(taken, [0, 10, 4, 14, 5, 15]);
      using warn = stub(console, "warn", () => {});
      const read: number[] = [];
      new Journal<{ n: number }>(folder).read(({ n }) => read.push(n));
      // What could not be cut back may hold whole entries, which no answer promised.
      assertEquals(cuts ? read : read.filter((n) => taken.includes(n)), taken);
      assertEquals(warn.calls.length, cuts ? 0 : 1);
      return Promise.resolve();
    }));
}

Deno.test("a journal goes on in its file where the disk has no room for a second one", () =>
  inFolder((folder) => {
    const read = (): number[] => {
      const entries: number[] = [];
      new Journal<{ n: number }>(folder).read(({ n }) => entries.push(n));
      return entries;
    };
    {
      using _ = fullAfter(3);
      assertThrows(() => new Journal(folder).rewrite([]), FailedPreconditionError);
      assertEquals([...Deno.readDirSync(folder)].length, 0);
    }
    const first = new Journal<{ n: number }>(folder);
    first.rewrite([{ n: 1 }]);
    {
      using _ = fullAfter(3);
      first.rewrite([{ n: 2 }]);
    }
    first.append([{ n: 3 }]);
    first.close();
    assertEquals(read(), [1, 3]);
    const second = new Journal<{ n: number }>(folder);
    {
      using _ = fullAfter(3);
      second.rewrite([{ n: 4 }]);
    }
    second.append([{ n: 5 }]);
    second.close();
    assertEquals(read(), [1, 3, 5]);
    assertEquals([...Deno.readDirSync(folder)].length, 1);
    return Promise.resolve();
  }));
